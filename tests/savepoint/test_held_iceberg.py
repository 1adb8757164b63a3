"""What an Iceberg table still holds of what comes after a query's place in it, of tables that pyiceberg wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import iceberg_offsets
from pipelines.domain.holdings import Holding, Usable
from pipelines.domain.iceberg_offsets import NO_SNAPSHOT, Position
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.savepoint import held_tables, moved_iceberg
from pipelines.savepoint.held_files import Seen
from pipelines.storage.local import LocalStorage
from tests import iceberg_tables

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Written:
    folder: Path
    table: Any
    made: tuple[int, ...]
    """Its first three snapshots, each with a file of one row."""

    def at_ms(self, number: int) -> int:
        return int(self.table.snapshot_by_id(self.made[number]).timestamp_ms)


def row(number: int) -> dict[str, Any]:
    return {"k": f"k{number}", "ts": datetime(2026, 1, 1, tzinfo=UTC), "n": number}


@pytest.fixture
def written(tmp_path: Path) -> Written:
    table = iceberg_tables.create(tmp_path / "t")
    return Written(tmp_path / "t", table, tuple(iceberg_tables.append(table, [row(number)]) for number in range(3)))


def held(folder: Path | str, at: Position) -> Holding:
    offset = SourceOffset("0", iceberg_offsets.offset_of(at))
    image = QueryImage(QueryName("q"), "id", 7, 0, 0, (offset,), "none", 0, (), {}, "noop", "", 0, 0, tables=(str(folder),))
    place = held_tables.reading(image, offset, LocalStorage(Path("/nowhere")))
    assert place is not None
    return held_tables.holding(place, Seen())


@pytest.mark.parametrize(
    ("number", "read", "text"),
    [
        (2, 1, "has no rows after snapshot {at}, 1 file of it read yet"),
        (1, 1, "has all 1 file from snapshot {at}, 1 file of it read on: it is 1 snapshot behind"),
        (0, 0, "has all 3 files from snapshot {at} on: it is 3 snapshots behind"),
        (-1, 0, "has all 3 files from the beginning on: it is 3 snapshots behind"),
    ],
)
def test_what_is_whole(number: int, read: int, text: str, written: Written) -> None:
    at = written.made[number] if number >= 0 else NO_SNAPSHOT
    holding = held(written.folder, Position(at, read))
    assert (holding.usable, holding.why) == (Usable.YES, f"Iceberg table {written.folder} {text.format(at=at)}")


def expire(*numbers: int) -> Callable[[Written], None]:
    def of_it(written: Written) -> None:
        iceberg_tables.expire(written.table, *(written.made[number] for number in numbers))

    return of_it


def roll_back(written: Written) -> None:
    """Its second snapshot is no ancestor of the present one any more."""
    written.table.manage_snapshots().set_current_snapshot(written.made[0]).commit()
    iceberg_tables.append(written.table, [row(9)])


def anew(written: Written) -> None:
    shutil.rmtree(written.folder)
    iceberg_tables.append(iceberg_tables.create(written.folder), [row(0)])


LOST: dict[str, tuple[Callable[[Written], None], int, str, int]] = {
    "its own": (expire(0), 0, "snapshot {made[0]} has expired", 1),
    "one in between": (expire(1), 0, "snapshot {made[1]} has expired", 1),
    "of the beginning": (expire(0), -1, "snapshot {made[0]} has expired", 1),
    "rolled back": (roll_back, 1, "is none of those that its present one came from", 0),
    "made anew": (anew, 1, "or the table was made anew", 1),
}


@pytest.mark.parametrize(("lose", "number", "text", "gone"), LOST.values(), ids=LOST.keys())
def test_what_is_gone(lose: Callable[[Written], None], number: int, text: str, gone: int, written: Written) -> None:
    lose(written)
    holding = held(written.folder, Position(written.made[number] if number >= 0 else NO_SNAPSHOT, 1))
    assert (holding.usable, holding.gone, holding.unit) == (Usable.NO, gone, "snapshots")
    assert text.format(made=written.made) in holding.why and holding.has_folder


def test_what_was_read_before_may_go(written: Written) -> None:
    expire(0)(written)
    assert held(written.folder, Position(written.made[1], 1)).usable is Usable.YES


def test_a_table_that_is_gone(written: Written) -> None:
    shutil.rmtree(written.folder)
    holding = held(written.folder, Position(written.made[1]))
    assert (holding.usable, holding.has_folder) == (Usable.NO, False) and "is gone" in holding.why


def test_where_spark_fails_is_said(written: Written) -> None:
    written.table.delete("n = 1")
    holding, gone = held(written.folder, Position(written.made[2], 1)), iceberg_tables.newest(written.table)
    assert holding.usable is Usable.YES
    assert f"Spark fails at snapshot {gone}, which deletes rows, unless the code sets streaming-skip-delete-snapshots" in holding.why
    assert "Spark fails" not in held(written.folder, Position(gone)).why


def test_until_when(written: Written) -> None:
    behind, newest = Position(written.made[0], 1), Position(written.made[2], 1)
    assert (held(written.folder, behind).until_ms, held(written.folder, behind).keeps_ms) == (written.at_ms(0) + 5 * DAY_MS, 5 * DAY_MS)
    assert held(written.folder, newest).until_ms is None, "the newest snapshot stays"
    with written.table.transaction() as change:
        change.set_properties({iceberg_offsets.KEPT_FOR: str(DAY_MS), iceberg_offsets.KEPT_SNAPSHOTS: "2"})
    assert held(written.folder, behind).until_ms == written.at_ms(0) + DAY_MS
    assert held(written.folder, Position(written.made[1])).until_ms is None
    with written.table.transaction() as change:
        change.set_properties({iceberg_offsets.IS_CLEANED: "false"})
    assert (held(written.folder, behind).until_ms, held(written.folder, behind).keeps_ms) == (None, None)


@pytest.mark.parametrize(("folder", "text"), [("", "which Iceberg table it reads was not noted"), ("s3a://lake/t", "not in a folder")])
def test_what_nobody_can_ask(folder: str, text: str) -> None:
    holding = held(folder, Position(5))
    assert holding.usable is Usable.UNKNOWN and text in holding.why


def test_a_table_of_another_catalog_is_not_asked(written: Written) -> None:
    for path in (written.folder / "metadata").glob("v*.metadata.json"):
        path.rename(path.with_name(f"0000{path.name[1]}-11111111-2222-3333-4444-555555555555.metadata.json"))
    holding = held(written.folder, Position(written.made[0]))
    assert holding.usable is Usable.UNKNOWN and "Its catalog alone knows" in holding.why


def test_how_far_apart_two_places_are(written: Written) -> None:
    table, (first, second, third) = moved_iceberg.table(str(written.folder)), written.made
    assert iceberg_offsets.distance(table, Position(first, 1), Position(third)) == (1, 0)
    assert iceberg_offsets.distance(table, Position(third, 1), Position(second)) == (0, 2)
    assert iceberg_offsets.distance(table, Position(second, 1), Position(third)) == (0, 0)
    assert iceberg_offsets.distance(table, Position(5), Position(third)) is None, "of a snapshot that is gone nobody knows"
