"""The front of a file that only grows is given back to the disk of the driver's machine; what follows stays at its place.

`pipelines.storage.fronts` does the same on the server, which no driver imports.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

KEEP_SIZE_PUNCH_HOLE = 0x01 | 0x02
BLOCK_BYTES = 1 << 16


def free(path: Path, end: int) -> None:
    """Frees what is before byte `end`, in whole blocks (fallocate(2)); nothing where the disk, or the system, cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    end = end // BLOCK_BYTES * BLOCK_BYTES
    if not end or not hasattr(libc, "fallocate"):
        return
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        libc.fallocate(descriptor, KEEP_SIZE_PUNCH_HOLE, ctypes.c_int64(0), ctypes.c_int64(end))
    finally:
        os.close(descriptor)
