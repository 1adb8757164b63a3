"""What a Delta table still holds of what comes after a query's place in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import delta as positions
from pipelines.domain.holdings import Holding, Usable
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.savepoint import held_tables
from pipelines.savepoint.held_files import Seen
from pipelines.storage.local import LocalStorage
from tests import delta
from tests.checkpoint.test_delta_log import checkpoint

DAY_MS = 86_400_000
MADE_MS = 1_800_000_000_000
NEWEST = 4


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Versions 0 to 4 of two files each; in version 3 they are compacted, which adds no rows."""
    folder = tmp_path / "a table#1"
    for version in range(NEWEST + 1):
        added = [delta.add(f"part-{version}-{at}", modificationTime=version) for at in (0, 1)]
        if version == 3:
            removed = [delta.remove(f"part-{old}-{at}", deletionTimestamp=MADE_MS + 1_000 * old) for old in (1, 2) for at in (0, 1)]
            added = [*removed, delta.add("compacted", dataChange=False)]
        delta.commit(folder, version, [*([delta.described()] if version == 0 else []), *added])
        written(folder, version, MADE_MS + 1_000 * version)
    return folder


def commit_of(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020d}.json"


def written(folder: Path, version: int, at_ms: int) -> None:
    os.utime(commit_of(folder, version), (at_ms / 1_000,) * 2)


def held(folder: Path | str, at: str, before: str = "", batch: int = 7) -> Holding:
    checkpoint = Path(str(folder)).parent / "checkpoint" if str(folder).startswith("/") else Path("/nowhere")
    if before:
        (checkpoint / "offsets").mkdir(parents=True)
        for number, entry in ((batch - 1, before), (batch, at)):
            (checkpoint / "offsets" / str(number)).write_text(f"v1\n{{}}\n{entry}")
    offset = SourceOffset("0", at)
    image = QueryImage(QueryName("q"), "id", batch, 0, 0, (offset,), "none", 0, (), {}, "noop", "", 0, 0, tables=(str(folder),))
    place = held_tables.reading(image, offset, LocalStorage(checkpoint))
    assert place is not None
    return held_tables.holding(place, Seen())


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (delta.offset(5), "has no rows after version 4 yet"),
        (delta.offset(4), "has all 2 files from version 4 on: it is 1 version behind"),
        (delta.offset(2, 0), "has all 3 files from version 2 on: it is 3 versions behind"),
        (delta.offset(1, 1, in_snapshot=True), "has all 6 files from version 1 on: it is 4 versions behind"),
    ],
)
def test_what_is_whole(at: str, text: str, table: Path) -> None:
    holding = held(table, at)
    assert (holding.usable, holding.why) == (Usable.YES, f"Delta table {table} {text}")


def lose(*names: str) -> Callable[[Path], None]:

    def from_it(table: Path) -> None:
        for name in names:
            (table / name).unlink()

    return from_it


def anew(table: Path) -> None:
    shutil.rmtree(table)
    delta.commit(table, 0, [delta.described("another")])


def shorter(table: Path) -> None:
    for version in (3, 4):
        commit_of(table, version).unlink()


LOST = {
    "a vacuum": (lose("part-2-1"), delta.offset(2), "1 of the 4 files", 1, ("part-2-1",)),
    "the file that is next": (lose("part-4-0"), delta.offset(4), "1 of the 2 files", 1, ("part-4-0",)),
    "a file of the beginning": (lose("part-0-1"), delta.offset(1, 0, in_snapshot=True), "1 of the 7 files", 1, ("part-0-1",)),
    "the log's cleaning": (
        lose(*(f"_delta_log/{version:020d}.json" for version in (0, 1))), delta.offset(0), "versions 0 to 1", 2, ("versions 0 to 1",),
    ),
    "a version in between": (lose(f"_delta_log/{2:020d}.json"), delta.offset(1), "the log of", 0, ()),
    "made anew": (anew, delta.offset(2), "was made anew", 0, ()),
    "taken back": (shorter, delta.offset(5), "was made anew", 0, ()),
    "gone": (shutil.rmtree, delta.offset(5), "is gone", 0, ()),
}  # fmt: skip


@pytest.mark.parametrize(("lose_it", "at", "text", "gone", "gaps"), LOST.values(), ids=LOST.keys())
def test_what_is_gone(lose_it: Callable[[Path], None], at: str, text: str, gone: int, gaps: tuple[str, ...], table: Path) -> None:
    if text.startswith("versions"):
        checkpoint_of(table)
    lose_it(table)
    holding = held(table, at)
    assert holding.usable is (Usable.UNKNOWN if "log of" in text else Usable.NO)
    assert text in holding.why and (holding.gone, holding.gaps) == (gone, gaps)
    assert holding.has_folder == (text != "is gone")


def checkpoint_of(table: Path) -> None:
    """Of version 2, behind which Delta cleans the log."""
    rows: list[Mapping[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {"id": delta.TABLE, "configuration": []}},
        *({"add": {"path": f"part-{version}-{at}", "size": 4}} for version in range(3) for at in (0, 1)),
    ]
    checkpoint(table, f"{2:020d}.checkpoint.parquet", rows)


def test_files_that_were_read_may_go(table: Path) -> None:
    lose("part-0-0", "part-1-1", "part-2-0", "compacted")(table)
    assert held(table, delta.offset(2, 0)).usable is Usable.YES


def test_the_commits_of_the_last_batch_are_needed_too(table: Path) -> None:
    """Spark plans the last batch once more as it begins, from its commits, without its files."""
    checkpoint_of(table)
    for version in (0, 1):
        commit_of(table, version).unlink()
    assert held(table, delta.offset(2)).usable is Usable.YES
    lacking = held(table, delta.offset(2), before=delta.offset(1))
    assert (lacking.usable, lacking.gaps) == (Usable.NO, ("version 1",))
    assert "is gone from its log, which begins at version 2" in lacking.why


def test_until_when(table: Path) -> None:
    caught_up, behind = held(table, delta.offset(4)), held(table, delta.offset(2))
    assert (caught_up.until_ms, caught_up.keeps_ms) == (MADE_MS + 4_000 + 30 * DAY_MS, 30 * DAY_MS)
    assert (behind.until_ms, behind.keeps_ms) == (MADE_MS + 2_000 + 7 * DAY_MS, 7 * DAY_MS), "a vacuum takes what was compacted"
    told = delta.described(logRetentionDuration="interval 2 hours 30 minutes", deletedFileRetentionDuration="interval 1 week")
    delta.commit(table, 5, [told])
    assert held(table, delta.offset(4)).until_ms == MADE_MS + 4_000 + 9_000_000
    delta.commit(table, 6, [delta.described(enableExpiredLogCleanup="false")])
    assert held(table, delta.offset(4)).until_ms is None


@pytest.mark.parametrize(
    ("text", "kept_ms"),
    [("interval 30 days", 30 * DAY_MS), ("1 week 2 days", 9 * DAY_MS), ("INTERVAL 10 SECONDS", 10_000), ("for ever", None), ("", None)],
)
def test_how_long_a_log_is_kept(text: str, kept_ms: int | None) -> None:
    assert positions.log_kept_ms({positions.LOG_KEPT: text}) == kept_ms


@pytest.mark.parametrize(("folder", "text"), [("", "was not noted"), ("s3a://lake/t", "not in a folder of this machine")])
def test_what_nobody_can_ask(folder: str, text: str) -> None:
    holding = held(folder, delta.offset(4))
    assert holding.usable is Usable.UNKNOWN and text in holding.why


def test_a_place_of_a_table_that_was_changed_in_between_begins_there(table: Path) -> None:
    """A checkpoint whose last batch read another table says nothing of this one's."""
    assert held(table, delta.offset(4), before=delta.offset(0, table="another")).usable is Usable.YES


@pytest.mark.parametrize("text", ['{"logOffset":3}', "17", "null", "no json", '{"reservoirVersion":"1","index":1,"reservoirId":"t"}'])
def test_other_offsets_are_no_places(text: str) -> None:
    assert positions.position_of(text) is None
    assert positions.position_of(delta.offset(3, -100)) == positions.Position(delta.TABLE, 3)
    assert positions.position_of(delta.offset(3, 1, in_snapshot=True)) == positions.Position(delta.TABLE, 3, 2, True)
