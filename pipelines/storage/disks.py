"""The disk below a folder, which need not be there."""

from __future__ import annotations

import shutil
from pathlib import Path


def in_the_way(folder: Path) -> Path | None:
    """What is no folder, and stands where `folder` would be, or above it."""
    return next((part for part in (folder, *folder.parents) if part.exists() and not part.is_dir()), None)


def disk_of(folder: Path) -> tuple[str, int, int]:
    """The file system's type, its size and what is free, in bytes."""
    import psutil

    used = shutil.disk_usage(folder)
    mounts = [mount for mount in psutil.disk_partitions(all=True) if folder.is_relative_to(mount.mountpoint)]
    kind = max(mounts, key=lambda mount: len(mount.mountpoint)).fstype if mounts else ""
    return kind, used.total, used.free
