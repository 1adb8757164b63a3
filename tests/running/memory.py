"""Where quick tests and whole runs keep their files: in memory, where there is room, for each test makes hundreds of small ones.

Laying a golden checkpoint takes 0.1 to 0.3 s on ext4, which steps over each inode that was deleted in the last minutes, and 0.01 s here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from tests.running import workers

DISK = "/dev/shm"
LEAST = 2 << 30
"""Bytes; a container often has 64 MB."""
WHOLE = 4 << 30
"""Bytes for the files of a whole run, beside what its workers take."""


@contextmanager
def folder(*, whole: bool = False) -> Iterator[str | None]:
    """A new folder in memory, which is removed; None where there is no room for one, for a whole run beside its workers."""
    if not _may_have_one() or (whole and not _has_room_for_all()):
        yield None
        return
    made = tempfile.mkdtemp(prefix="tidemark-tests-", dir=DISK)
    os.chmod(made, 0o711)  # as in /tmp, another user gets through to what a test lets him at
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _may_have_one() -> bool:
    """Whether there is such a disk with room; tests run programs that they write, which some are mounted without a right to."""
    is_there = os.path.ismount(DISK) and os.access(DISK, os.W_OK) and not os.statvfs(DISK).f_flag & os.ST_NOEXEC
    return is_there and shutil.disk_usage(DISK).free >= LEAST


def _has_room_for_all() -> bool:
    available = psutil.virtual_memory().available
    taken = workers.EACH_BYTES * workers.of_whole_run(os.cpu_count() or 1, available)
    return shutil.disk_usage(DISK).free >= WHOLE and available - taken >= WHOLE
