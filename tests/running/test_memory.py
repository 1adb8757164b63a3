"""A folder in memory is there while quick tests run, and only where there is room."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.running import memory


def test_it_is_there_and_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "DISK", str(tmp_path))
    monkeypatch.setattr(os.path, "ismount", lambda disk: disk == str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=memory.LEAST))
    with memory.folder() as folder:
        assert folder is not None
        (Path(folder) / "x").write_text("a test's file")
        assert [path.name for path in tmp_path.iterdir()] == [Path(folder).name]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("free", [memory.LEAST - 1, 0])
def test_there_is_none_without_room(free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "DISK", str(tmp_path))
    monkeypatch.setattr(os.path, "ismount", lambda disk: disk == str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with memory.folder() as folder:
        assert folder is None


def test_a_folder_of_the_disk_is_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "DISK", str(tmp_path))
    with memory.folder() as folder:
        assert folder is None
