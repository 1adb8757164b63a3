"""Two disks where there is one: nothing is linked or shared between folders, every byte is copied."""

from __future__ import annotations

import errno
from itertools import count

import pytest

from pipelines.storage import copies, folders, links


def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file system that is asked for is another one, and links are refused as between two."""
    devices = count()
    unlinked(monkeypatch)
    monkeypatch.setattr(folders, "_device", lambda path: next(devices))


def unlinked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One file system, on which nothing can be linked: of another user's files, or a simple one."""

    def refused(*_: object) -> bool:
        return False

    def unshared(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "no reflinks here")

    monkeypatch.setattr(copies, "link", refused)
    monkeypatch.setattr(links, "_linked", refused)
    monkeypatch.setattr("pipelines.storage.copies.fcntl.ioctl", unshared)
