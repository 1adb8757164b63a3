"""How one file's bytes get from here to there, cheapest way first."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

from pipelines.domain.errors import TidemarkError
from pipelines.storage import file_objects, handover, paths, users
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Advance, How, Storage, unwatched

BUFFER_BYTES = 4 * 1024 * 1024
FOWNER = 3
"""Linux's CAP_FOWNER (include/uapi/linux/capability.h)."""
FICLONE = 0x40049409
"""Linux's ioctl that shares one file's blocks with another (include/uapi/linux/fs.h)."""
NO_LINK = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS}
"""Errors of `link` after which a copy can still succeed: other file system, protected or too many links, no links at all."""


@runtime_checkable
class Streams(Protocol):
    """A storage that hands out a file, and takes one, piece by piece."""

    def stream(self, path: str) -> BinaryIO:
        """`path` opened for reading; NotFound where it does not exist."""
        ...

    def writing(self, path: str) -> AbstractContextManager[BinaryIO]:
        """A file that becomes `path`, whole, when the block ends well; nothing is left of it when the block raises."""
        ...


@contextmanager
def opened(source: Storage, path: str) -> Iterator[BinaryIO]:
    """`path` of any storage for reading: streamed where the storage can, else read whole."""
    with source.stream(path) if isinstance(source, Streams) else io.BytesIO(source.read(path)) as stream:
        yield stream


@contextmanager
def writing(target: Storage, path: str) -> Iterator[BinaryIO]:
    """A file that becomes `path` of any storage when the block ends well: streamed where the storage can, else gathered in memory."""
    if isinstance(target, Streams):
        with target.writing(path) as file:
            yield file
        return
    gathered = io.BytesIO()
    yield gathered
    target.write(path, gathered.getvalue())


def pour(stream: BinaryIO, target: BinaryIO, advance: Advance = unwatched) -> None:
    """All of `stream` into `target`."""
    while piece := stream.read(BUFFER_BYTES):
        target.write(piece)
        advance(len(piece))


@contextmanager
def published(target: str) -> Iterator[BinaryIO]:
    """A file to write that becomes `target` when the block ends well: written aside, flushed to disk, renamed.

    What the system refuses is raised naming `target`; what the block raises goes on as it is. Nothing is left of either.
    """
    aside = paths.temporary(target)
    file = file_objects.opened(aside, "xb", target)
    try:
        handover.as_in_folder(file.fileno(), os.path.dirname(target))
        yield file_objects.unfinished(file, target)
        with typed_errors(target):
            file.flush()
            os.fsync(file.fileno())
            file.close()
            os.replace(aside, target)
    except BaseException:
        with suppress(TidemarkError):  # what its buffer still holds is thrown away with it
            file.close()
        if os.path.lexists(aside):
            os.unlink(aside)
        raise


def write_new(target: str, data: bytes, like: str) -> bool:
    """Writes a file aside, flushed to disk, and gives it its name unless that is taken: whether it did. Its rights are those of `like`."""
    aside = paths.temporary(target)
    with typed_errors(target):
        try:
            with open(aside, "xb") as file:
                os.fchmod(file.fileno(), stat.S_IMODE(os.stat(like).st_mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(aside, target)
        except FileExistsError:
            return False
        finally:
            if os.path.lexists(aside):
                os.unlink(aside)
        sync_folder(os.path.dirname(target))
    return True


def sync_folder(folder: str) -> None:
    """Flushes a folder's names to disk, so that a rename in it outlives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def link(source: str, target: str) -> bool:
    """Hard-links `source` as `target`, over what was there; False where this pair of files cannot be linked."""
    try:
        os.link(source, target)
    except FileExistsError:
        return link_over(source, target)
    except OSError as error:
        if error.errno in NO_LINK:
            return False
        raise
    handover.keep(target)
    return True


def may_link(path: str) -> bool:
    """Whether this process may give the file another name on its disk: where links are protected, one of another user's only if it may be
    read and written (proc_sys_fs(5), protected_hardlinks; without it, and for a capability to do all, always)."""
    seen = os.stat(path)
    if seen.st_uid == os.geteuid() or not users.links_are_protected() or _owns_all():
        return True
    runs_as_others = seen.st_mode & stat.S_ISUID or seen.st_mode & (stat.S_ISGID | stat.S_IXGRP) == stat.S_ISGID | stat.S_IXGRP
    return stat.S_ISREG(seen.st_mode) and not runs_as_others and os.access(path, os.R_OK | os.W_OK, effective_ids=True)


def _owns_all() -> bool:
    """Whether this process of a Linux counts as the owner of every file."""
    capabilities = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return bool(capabilities and int(capabilities[1], 16) >> FOWNER & 1)


def link_over(source: str, target: str) -> bool:
    """Links aside and renames over `target`. `rename` does nothing where both names are one file: then the name aside is removed."""
    aside = paths.temporary(target)
    if not link(source, aside):
        return False
    os.replace(aside, target)
    if os.path.lexists(aside):
        os.unlink(aside)
    return True


def copy(source: str, target: str, advance: Advance = unwatched) -> How:
    """`source` as `target` with blocks of its own, or shared ones where the file system has reflinks."""
    with file_objects.opened(source, "rb", source) as stream, published(target) as written:
        try:
            fcntl.ioctl(written.fileno(), FICLONE, stream.fileno())
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            pour(stream, written, advance)
            return How.COPY
        advance(os.fstat(stream.fileno()).st_size)
    return How.REFLINK
