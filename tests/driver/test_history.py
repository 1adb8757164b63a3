"""The data files that come along with a carried sink log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.driver.history import History


def line(path: Path, action: str = "add") -> str:
    return json.dumps({"path": path.as_uri(), "size": 3, "isDir": False, "modificationTime": 1, "action": action})


@pytest.fixture
def past(tmp_path: Path) -> History:
    root = tmp_path / "parent out" / "counts"
    (root / "day=1").mkdir(parents=True)
    (root / "day=1" / "part-0%3A.parquet").write_bytes(b"one")
    (root / "day=1" / ".part-0%3A.parquet.crc").write_bytes(b"sum")
    return History(root, tmp_path / "fork" / "counts")


def test_files_are_linked_where_the_log_will_name_them(past: History) -> None:
    logged = line(past.root / "day=1" / "part-0%3A.parquet")
    assert past.bring(["v1", logged]) == 0
    moved = json.loads(past.entry(logged))
    mine = past.sink / "day=1" / "part-0%3A.parquet"
    assert moved == json.loads(logged) | {"path": mine.as_uri().replace("%3D", "=")}, "as Spark writes it"
    assert mine.samefile(past.root / "day=1" / "part-0%3A.parquet")
    assert (past.sink / "day=1" / ".part-0%3A.parquet.crc").read_bytes() == b"sum"


def test_bringing_twice_changes_nothing(past: History) -> None:
    logged = [line(past.root / "day=1" / "part-0%3A.parquet")]
    past.bring(logged)
    before = sorted(path.stat().st_ino for path in past.sink.rglob("*"))
    assert past.bring(logged) == 0
    assert sorted(path.stat().st_ino for path in past.sink.rglob("*")) == before


def test_files_that_are_gone_are_counted(past: History) -> None:
    assert past.bring([line(past.root / "gone.parquet")]) == 1


def test_a_file_that_the_log_deletes_is_not_missed(past: History) -> None:
    old = past.root / "old.parquet"
    assert past.bring([line(old), line(old, "delete")]) == 0


def test_lines_that_name_nothing_below_the_root_stay(past: History, tmp_path: Path) -> None:
    elsewhere = line(tmp_path / "elsewhere" / "part.parquet")
    assert past.bring([elsewhere, "v1"]) == 0
    assert [past.entry(log_line) for log_line in ("v1", elsewhere)] == ["v1", elsewhere]


def test_a_copy_where_the_file_systems_differ(past: History, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import os

    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", refuse)
    past.bring([line(past.root / "day=1" / "part-0%3A.parquet")])
    mine = past.sink / "day=1" / "part-0%3A.parquet"
    assert mine.read_bytes() == b"one"
    assert not mine.samefile(past.root / "day=1" / "part-0%3A.parquet")
