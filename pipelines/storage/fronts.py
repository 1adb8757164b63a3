"""Files that only grow, of which the front is given back to the disk: what is left stays at its place.

A rename or a truncation would lose lines, or need the writers' help: a driver, its JVM and its Python workers hold one log open. A hole
at its front (fallocate(2), `FALLOC_FL_PUNCH_HOLE`) is nothing to them, and no position in the file changes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

KEEP_SIZE_PUNCH_HOLE = 0x01 | 0x02
BLOCK_BYTES = 1 << 16
UNABLE = {errno.EOPNOTSUPP, errno.ENOSYS}


def begin(descriptor: int) -> int:
    """The first byte that is there still; that may be within a line. 0 for a file of which nothing was freed. Its position stays."""
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        return os.lseek(descriptor, 0, os.SEEK_DATA)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.EINVAL):  # it is empty; its disk knows of no holes
            return 0
        raise
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)


def first_line(file: BinaryIO, longest: int) -> int:
    """Where its first whole line begins; leaves the file there."""
    place = begin(file.fileno())
    file.seek(place)
    return place + (len(file.readline(longest)) if place else 0)


def from_line(file: BinaryIO, at: int, longest: int) -> int:
    """Where the first whole line begins that is there still, of those from `at` on, where a line begins; leaves the file there."""
    return file.seek(at) if at >= begin(file.fileno()) else first_line(file, longest)


def free(path: Path, keep_bytes: int) -> bool:
    """Frees all but about the last `keep_bytes` of a file, once a quarter more is there. False where its file system cannot.

    A link, or a file that has another name, is left alone: whoever writes to it may have put it there.
    """
    if path.is_symlink():
        return True
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_nlink != 1 or seen.st_size - begin(descriptor) <= keep_bytes + keep_bytes // 4:
            return True
        return _punch(descriptor, (seen.st_size - keep_bytes) // BLOCK_BYTES * BLOCK_BYTES)
    finally:
        os.close(descriptor)


def _punch(descriptor: int, end: int) -> bool:
    libc = _libc()
    if libc is None:
        return False
    if not end or libc.fallocate(descriptor, KEEP_SIZE_PUNCH_HOLE, ctypes.c_int64(0), ctypes.c_int64(end)) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNABLE:
        return False
    raise OSError(number, os.strerror(number))


@cache
def _libc() -> Any:
    """None where there is no such call."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc if hasattr(libc, "fallocate") else None
