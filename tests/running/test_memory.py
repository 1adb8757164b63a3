"""A folder in memory is there while quick tests or all of them run, and only where there is room."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tests.running import memory, workers


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


@pytest.mark.parametrize(("available", "is_there"), [(workers.EACH_BYTES * 2 + memory.WHOLE, True), (memory.WHOLE, False)])
def test_a_whole_run_has_one_where_its_workers_leave_room(
    available: int, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "DISK", str(tmp_path))
    monkeypatch.setattr(os.path, "ismount", lambda disk: disk == str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=memory.WHOLE))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=available))
    with memory.folder(whole=True) as folder:
        assert (folder is not None) is is_there


def test_a_folder_of_the_disk_is_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "DISK", str(tmp_path))
    with memory.folder() as folder:
        assert folder is None
