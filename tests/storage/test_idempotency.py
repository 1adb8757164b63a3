"""What is kept of changes with a key: bounded by caller, by bytes and by age; in memory where the disk takes nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.errors import Corrupt
from pipelines.domain.idempotency import KEPT_MS, KeptCall, name
from pipelines.storage import idempotency
from pipelines.storage.idempotency import KeptCalls

NOW_MS = 1_700_000_000_000


def call(begun_ms: int = NOW_MS) -> KeptCall:
    return KeptCall("f" * 64, begun_ms)


def laid(folder: Path, caller: str, count: int, age_ms: int = 0) -> list[str]:
    """Calls of a caller, oldest first."""
    names = [name(caller, f"{age_ms} {number}") for number in range(count)]
    for number, file in enumerate(names):
        at_ns = (NOW_MS - age_ms - count + number) * 1_000_000
        KeptCalls(folder).keep(file, call())
        os.utime(folder / file, ns=(at_ns, at_ns))
    return names


def left(folder: Path) -> set[str]:
    """What is left once another one begins."""
    KeptCalls(folder).begin(name("other", "new"), call())
    return {path.name for path in folder.iterdir()} - {name("other", "new")}


def test_what_is_kept_is_found_until_a_day_has_passed(tmp_path: Path) -> None:
    KeptCalls(tmp_path / "calls").begin("a.json", call())
    again = KeptCalls(tmp_path / "calls")
    assert again.find("a.json", NOW_MS + KEPT_MS) == call()
    assert again.find("a.json", NOW_MS + KEPT_MS + 1) is None
    assert again.find("b.json", NOW_MS) is None


def test_what_is_forgotten_is_found_no_more(tmp_path: Path) -> None:
    calls = KeptCalls(tmp_path)
    calls.begin("a.json", call())
    calls.forget("a.json")
    calls.forget("a.json")
    assert calls.find("a.json", NOW_MS) is None


def test_of_each_caller_the_newest_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MOST_CALLS", 3)
    ours, theirs = laid(tmp_path, "us", 5), laid(tmp_path, "them", 2)
    assert left(tmp_path) == {*ours[2:], *theirs}


def test_all_together_take_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = laid(tmp_path, "us", 5)
    monkeypatch.setattr(idempotency, "MOST_BYTES", 2 * (tmp_path / names[0]).stat().st_size)
    assert left(tmp_path) == set(names[3:])


def test_what_is_older_than_a_day_goes(tmp_path: Path) -> None:
    laid(tmp_path, "us", 2, age_ms=KEPT_MS)
    names = laid(tmp_path, "us", 1)
    assert left(tmp_path) == set(names)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A folder that cannot be made: there is a file in its place."""
    folder = tmp_path / "calls"
    folder.write_text("")
    yield folder
    folder.unlink(missing_ok=True)


def test_where_the_disk_takes_nothing_memory_does(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MOST_IN_MEMORY", 2)
    calls = KeptCalls(full)
    for file in ("a.json", "b.json", "c.json"):
        calls.begin(file, call())
    assert calls.find("c.json", NOW_MS) == calls.find("b.json", NOW_MS) == call()


def test_what_is_no_call_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(Corrupt):
        KeptCalls(tmp_path).find("a.json", NOW_MS)
    shutil.rmtree(tmp_path)
