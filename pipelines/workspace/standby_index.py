"""The folder of a standby's own index, in the machine's temporary folder: locked by the process that has it, removed with it, and by the
next standby where that process was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

PREFIX, LOCK, NEW = "tidemark-standby-", ".lock", ".lock.new"


@contextmanager
def folder() -> Iterator[Path]:
    """A new one, for as long as it is used; first those go that nobody has any more."""
    for left in Path(gettempdir()).glob(f"{PREFIX}*"):
        _remove_left(left)
    with TemporaryDirectory(prefix=PREFIX) as made:
        descriptor = _locked(Path(made, NEW), os.O_CREAT)
        Path(made, NEW).rename(Path(made, LOCK))  # locked before anybody else can find it
        try:
            yield Path(made)
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _remove_left(left: Path) -> None:
    """Removes a folder of this user's whose lock is free; one without a lock is just being made, or another release's."""
    if left.is_symlink() or left.lstat().st_uid != os.getuid():
        return
    descriptor = _locked(left / LOCK)
    if descriptor is not None:
        shutil.rmtree(left, ignore_errors=True)
        os.close(descriptor)


def _locked(path: Path, flags: int = 0) -> int | None:
    """A descriptor that holds the lock; None where there is none, or another process has it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
