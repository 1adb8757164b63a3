"""Where quick tests keep their files: in memory, where the machine has a disk there, for each of them makes hundreds of small ones.

Laying a golden checkpoint takes 0.1 to 0.3 s on ext4, which steps over each inode that was deleted in the last minutes, and 0.01 s here.
A whole run takes all tests through the machine's own disk.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

DISK = "/dev/shm"
LEAST = 2 << 30
"""Bytes; a container often has 64 MB."""


@contextmanager
def folder() -> Iterator[str | None]:
    """A new folder in memory, which is removed; None where there is no room for one."""
    if not os.path.ismount(DISK) or not os.access(DISK, os.W_OK) or shutil.disk_usage(DISK).free < LEAST:
        yield None
        return
    made = tempfile.mkdtemp(prefix="tidemark-tests-", dir=DISK)
    os.chmod(made, 0o711)  # as in /tmp, another user gets through to what a test lets him at
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
