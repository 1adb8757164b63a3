"""How one file's bytes get from here to there, cheapest way first."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol, runtime_checkable

from pipelines.storage import paths
from pipelines.storage.protocol import How, Storage

BUFFER_BYTES = 4 * 1024 * 1024
FICLONE = 0x40049409
"""Linux's ioctl that shares one file's blocks with another (include/uapi/linux/fs.h)."""
NO_LINK = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS}
"""What `link` answers where a copy can still succeed: other file system, protected or too many links, no links at all."""


@runtime_checkable
class Streams(Protocol):
    """A storage that can hand out a file piece by piece."""

    def stream(self, path: str) -> BinaryIO: ...


@contextmanager
def opened(source: Storage, path: str) -> Iterator[BinaryIO]:
    """`path` of any storage for reading: streamed where the storage can, else read whole."""
    with source.stream(path) if isinstance(source, Streams) else io.BytesIO(source.read(path)) as stream:
        yield stream


def pour(stream: BinaryIO, target: BinaryIO) -> None:
    """All of `stream` into `target`."""
    shutil.copyfileobj(stream, target, BUFFER_BYTES)


@contextmanager
def published(target: str) -> Iterator[BinaryIO]:
    """A file to write that becomes `target` at the end: written aside, flushed to disk, renamed; nothing is left of it on an error."""
    aside = paths.temporary(target)
    try:
        with open(aside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, target)
    except BaseException:
        if os.path.lexists(aside):
            os.unlink(aside)
        raise


def sync_folder(folder: str) -> None:
    """Flushes a folder's names to disk, so that a rename in it outlives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def linked_or_copied(source: str, target: str) -> How:
    """`source` as `target` by a hard link where this pair of files can be linked, else copied."""
    return How.LINK if link(source, target) else copy(source, target)


def link(source: str, target: str) -> bool:
    """Hard-links `source` as `target`, over what was there; False where this pair of files cannot be linked."""
    try:
        os.link(source, target)
    except FileExistsError:
        return _link_over(source, target)
    except OSError as error:
        if error.errno in NO_LINK:
            return False
        raise
    return True


def _link_over(source: str, target: str) -> bool:
    """`rename` leaves both names where they already are one file: that is the wanted end, less the name aside."""
    aside = paths.temporary(target)
    if not link(source, aside):
        return False
    os.replace(aside, target)
    if os.path.lexists(aside):
        os.unlink(aside)
    return True


def copy(source: str, target: str) -> How:
    """`source` as `target` with blocks of its own, or shared ones where the file system has reflinks."""
    with open(source, "rb") as stream, published(target) as written:
        try:
            fcntl.ioctl(written.fileno(), FICLONE, stream.fileno())
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            pour(stream, written)
            return How.COPY
    return How.REFLINK
