"""What a storage refuses, in the words of the error groups: one table for all kinds of storage."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.domain.errors import NotFound, TidemarkError, Unavailable

FULL = {errno.ENOSPC, errno.EDQUOT}
DENIED = {errno.EACCES, errno.EPERM}


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """Raises what the storage says about `path` as NotFound or Unavailable; other libraries' errors count as the storage's."""
    try:
        yield
    except TidemarkError:
        raise
    except OSError as error:
        raise translated(error, path) from error
    except Exception as error:
        said = f"{path}: {type(error).__name__}: {error}"
        raise Unavailable("storage.failed", said, "The storage's client failed; check its address and credentials.") from error


def translated(error: OSError, path: str) -> TidemarkError:
    """The typed error for `error`, which names the file and the next step."""
    where = str(error.filename) if error.filename else path
    if isinstance(error, FileNotFoundError):
        return NotFound("storage.not_found", f"{where} does not exist", "It was deleted, or never written; list the folder again.")
    if isinstance(error, PermissionError) or error.errno in DENIED:
        return Unavailable("storage.denied", f"{where}: permission denied", "Give this user access, or choose another storage.")
    if error.errno in FULL:
        return Unavailable("storage.full", f"{where}: no space left", "Free space or dispose of savepoints, then try again.")
    if error.errno == errno.EROFS:
        return Unavailable("storage.read_only", f"{where}: the file system is read-only", "Choose a storage that can be written to.")
    if isinstance(error, (IsADirectoryError, NotADirectoryError)):
        said = f"{where} is in the way: a file where a folder is needed, or the reverse"
        return Unavailable("storage.not_a_file", said, "Remove it or use another path.")
    return Unavailable("storage.failed", f"{where}: {error.strerror or error}", "Check that the storage is mounted and healthy.")
