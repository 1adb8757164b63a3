from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import pytest

from pipelines.domain.ids import SavepointId
from pipelines.savepoint import dispose, space
from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from tests.savepoint.golden import NOW_MS, Bench

A, B, C = (SavepointId(name) for name in "abc")


def used(*folders: Path) -> int:
    """What the disk holds below `folders`, each file once: what `du --apparent-size` says of files."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    seen = {(stat.st_dev, stat.st_ino): stat.st_size for stat in (path.stat() for path in files)}
    return sum(seen.values())


@pytest.fixture
def shelf(tmp_path: Path) -> LocalStorage:
    """Live 1000 bytes; `a` and `b` share them and 100 of their own, `b` has 10 twice, `c` has 1."""
    storage = LocalStorage(tmp_path / "savepoints")
    live = LocalStorage(tmp_path / "live")
    live.write("state", bytes(1000))
    storage.write("a/own", bytes(100))
    storage.write("b/new", bytes(10))
    storage.write("c/only", bytes(1))
    for link, to in (
        ("a/state", "live/state"),
        ("b/state", "live/state"),
        ("b/own", "savepoints/a/own"),
        ("b/x/again", "savepoints/b/new"),
    ):
        (tmp_path / "savepoints" / link).parent.mkdir(exist_ok=True)
        os.link(tmp_path / to, tmp_path / "savepoints" / link)
    return storage


def test_each_byte_once(shelf: LocalStorage, tmp_path: Path) -> None:
    usage = space.space(shelf, [C, B, A])
    assert [(row.savepoint, row.bytes, row.frees_bytes, row.shared_bytes) for row in usage.savepoints] == [
        ("c", 1, 1, 0),
        ("b", 1120, 10, 1110),
        ("a", 1100, 0, 1100),
    ]
    assert (usage.full_bytes, usage.disk_bytes, usage.frees_bytes, usage.shared_bytes) == (2221, 1111, 111, 1100)
    assert usage.disk_bytes == used(tmp_path / "savepoints")


def test_what_others_hold_is_not_freed(shelf: LocalStorage) -> None:
    usage = space.space(shelf, [A])
    assert (usage.disk_bytes, usage.frees_bytes, usage.shared_bytes) == (1100, 0, 0)


def test_one_that_is_gone_holds_nothing(shelf: LocalStorage) -> None:
    assert space.space(shelf, [SavepointId("gone")]).savepoints[0].bytes == 0
    assert space.space(shelf, []).full_bytes == 0


def test_elsewhere_everything_is_its_own() -> None:
    storage = open_storage(f"memory://{uuid4().hex}/root")
    for name in ("a/x", "b/x"):
        storage.write(name, bytes(7))
    usage = space.space(storage, [A, B])
    assert (usage.full_bytes, usage.disk_bytes, usage.frees_bytes, usage.shared_bytes) == (14, 14, 14, 0)


def test_disposing_frees_what_was_said(bench: Bench) -> None:
    ids = [bench.take(f"sp-{number}").id for number in range(3)]
    for savepoint in ids:
        expected = next(row for row in space.space(bench.library, ids).savepoints if row.savepoint == savepoint)
        before = used(bench.folder)
        planned = dispose.look(bench.library, savepoint, NOW_MS).plan
        dispose.dispose(bench.library, savepoint, NOW_MS)
        assert (planned.frees_bytes, planned.bytes) == (expected.frees_bytes, expected.bytes)
        assert before - used(bench.folder) == expected.frees_bytes > 0


@pytest.mark.bench
def test_five_hundred_savepoints(tmp_path: Path) -> None:
    """500 savepoints of 300 files: seconds are printed, none asserted."""
    import time

    live = tmp_path / "live"
    live.mkdir()
    for number in range(300):
        (live / str(number)).write_bytes(b"x" * number)
    ids = [SavepointId(f"sp-{number}") for number in range(500)]
    for savepoint in ids:
        for number in range(300):
            folder = tmp_path / "savepoints" / savepoint / str(number // 30)
            folder.mkdir(parents=True, exist_ok=True)
            os.link(live / str(number), folder / str(number))
    began, busy = time.perf_counter(), time.process_time()
    usage = space.space(LocalStorage(tmp_path / "savepoints"), ids)
    print(f"\n500 savepoints of 300 files: {time.perf_counter() - began:.2f} s, {time.process_time() - busy:.2f} s of them the processor's")
    assert usage.disk_bytes * 500 == usage.full_bytes and usage.frees_bytes == 0
