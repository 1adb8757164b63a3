from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Corrupt, NotFound, TidemarkError, Unsupported
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import MANIFEST_FORMAT
from pipelines.savepoint import leases, library, restore
from tests.savepoint.golden import NOW_MS, Bench

SP = SavepointId("sp-1")


def edit(bench: Bench, change: Callable[[dict[str, Any]], None]) -> None:
    path = bench.folder / "savepoints" / "sp-1" / "manifest.json"
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))


def test_an_empty_library(bench: Bench) -> None:
    assert library.shelf(bench.library) == library.Shelf((), ())
    assert library.clean(bench.library, NOW_MS) == library.Cleaned((), ())
    with pytest.raises(NotFound):
        library.load(bench.library, SP)


def test_newest_first_and_a_folder_without_a_manifest_is_no_savepoint(bench: Bench) -> None:
    for number in (1, 3, 2):
        bench.take(f"sp-{number}")
    (bench.folder / "savepoints" / "sp-9").mkdir()
    assert [savepoint.id for savepoint in library.shelf(bench.library).savepoints] == ["sp-3", "sp-2", "sp-1"]


def test_a_damaged_manifest_is_shown_and_hides_no_other(bench: Bench) -> None:
    bench.take("sp-1")
    bench.take("sp-2")
    (bench.folder / "savepoints" / "sp-1" / "manifest.json").write_text("{")
    shelf = library.shelf(bench.library)
    assert [savepoint.id for savepoint in shelf.savepoints] == ["sp-2"]
    assert [(unreadable.id, type(unreadable.error)) for unreadable in shelf.unreadable] == [("sp-1", Corrupt)]
    assert library.clean(bench.library, NOW_MS) == library.Cleaned((), ()), "damaged is not unfinished"


def outside(raw: dict[str, Any]) -> None:
    raw["files"][0]["path"] = "../../../etc/cron.d/x"


def elsewhere(raw: dict[str, Any]) -> None:
    raw["files"][0]["path"] = "manifest.json"


def absolute(raw: dict[str, Any]) -> None:
    raw["files"][0]["path"] = "/etc/passwd"


def query(raw: dict[str, Any]) -> None:
    raw["queries"][0]["query"] = "../other"


def script(raw: dict[str, Any]) -> None:
    raw["version"]["script"] = "../../x.py"


def newer(raw: dict[str, Any]) -> None:
    raw["format"] = MANIFEST_FORMAT + 1
    del raw["files"]


def renamed(raw: dict[str, Any]) -> None:
    raw["id"] = "sp-7"


def no_queries(raw: dict[str, Any]) -> None:
    raw["queries"] = []


def wrong_type(raw: dict[str, Any]) -> None:
    raw["created_ms"] = "yesterday"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (outside, Corrupt),
        (elsewhere, Corrupt),
        (absolute, Corrupt),
        (query, Corrupt),
        (script, Corrupt),
        (newer, Unsupported),
        (renamed, Corrupt),
        (no_queries, Corrupt),
        (wrong_type, Corrupt),
    ],
)
def test_a_manifest_is_not_trusted(change: Callable[[dict[str, Any]], None], kind: type[TidemarkError], bench: Bench) -> None:
    bench.take()
    edit(bench, change)
    before = bench.files(bench.folder)
    with pytest.raises(kind) as refused:
        restore.restore(bench.library, SP, bench.fork(), NOW_MS)
    assert refused.value.hint
    assert bench.files(bench.folder) == before, "nothing was written anywhere"
    assert [unreadable.id for unreadable in library.shelf(bench.library).unreadable] == ["sp-1"]


@pytest.mark.parametrize("torn", [b"", b"{"])
def test_a_mark_torn_by_a_power_cut_does_not_stop_the_cleaning(torn: bytes, bench: Bench) -> None:
    half: Path = bench.folder / "savepoints" / "sp-1"
    half.mkdir(parents=True)
    (half / "making.json").write_bytes(torn)
    (half / ".tmp-0123").write_bytes(b"half")
    assert library.clean(bench.library, NOW_MS).unfinished == (SP,)
    assert bench.files() == set()


def test_what_a_crash_left_of_a_write_in_a_published_savepoint_is_cleaned(bench: Bench) -> None:
    bench.take()
    home = bench.folder / "savepoints" / "sp-1"
    before = bench.files()
    for folder in (home, home / "queries" / "counts" / "checkpoint"):
        (folder / ".tmp-0123456789abcdef").write_text('{"half"')
    assert library.clean(bench.library, NOW_MS) == library.Cleaned((), ())
    assert bench.files() == before


def test_a_write_of_whoever_holds_the_savepoint_is_left_alone(bench: Bench) -> None:
    bench.take()
    aside = bench.folder / "savepoints" / "sp-1" / ".tmp-0123456789abcdef"
    aside.write_text("")
    with leases.lease(bench.library, SP, "/a/fork", NOW_MS):
        library.clean(bench.library, NOW_MS)
        assert aside.exists()
    library.clean(bench.library, NOW_MS)
    assert not aside.exists()
