"""This host, and locks that tell of processes of others."""

from __future__ import annotations

import fcntl
import functools
import os
import socket
import struct
import sys
from pathlib import Path

from pipelines.domain.hosts import BOOT_FILE, Host, Place, place_of
from pipelines.storage.disks import disk_of

PIDS_FILE = "/proc/self/ns/pid"
OF_ONE_HOST = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "reiserfs", "bcachefs", "overlay", "tmpfs", "apfs", "hfs"}
)
"""File systems that one host has mounted at a time; any other counts as shared."""


@functools.cache
def here() -> Host:
    """The host of this process."""
    pids = os.readlink(PIDS_FILE) if os.path.islink(PIDS_FILE) else ""
    boot = Path(BOOT_FILE).read_text().strip() if Path(BOOT_FILE).exists() else ""
    return Host(socket.gethostname(), boot, pids)


def place(known: Host | None) -> Place:
    """Where what was noted on `known` is."""
    return place_of(known, here())


def is_shared(folder: Path) -> bool:
    """Whether hosts may share the file system of `folder`, or of what is there of the folders above it."""
    there = folder.resolve()
    return disk_of(next(part for part in (there, *there.parents) if part.exists()))[0] not in OF_ONE_HOST


def is_locked(path: Path) -> bool:
    """Whether another process has a POSIX lock on the file, on whatever host it is; one that may not be opened counts as locked."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except PermissionError:
        return True
    try:
        return _asked(descriptor) != fcntl.F_UNLCK
    finally:
        os.close(descriptor)


def _asked(descriptor: int) -> int:
    """The kind of lock that another process has on the file. Asking takes none: that could keep a driver out that begins."""
    if sys.platform == "darwin":
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack("qqihh", 0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET))
        return int(struct.unpack("qqihh", answer)[3])
    answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    return int(struct.unpack("hhqqi4x", answer)[0])
