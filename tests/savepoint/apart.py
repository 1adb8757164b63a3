"""Two disks where there is one: nothing is linked or shared between folders, every byte is copied."""

from __future__ import annotations

import errno
from itertools import count

import pytest

from pipelines.storage import copying, folders


def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file system that is asked for is another one, and links are refused as between two."""
    devices = count()

    def refused(*_: object) -> bool:
        return False

    def unshared(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "no reflinks here")

    monkeypatch.setattr(folders, "_device", lambda path: next(devices))
    monkeypatch.setattr(copying, "link", refused)
    monkeypatch.setattr(copying.fcntl, "ioctl", unshared)
