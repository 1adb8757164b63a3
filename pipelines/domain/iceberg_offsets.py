"""Iceberg as a source: where a query stands among the snapshots of a table, what comes after it, and how long the table keeps that.

Iceberg reads `main` alone, by the files that each of its snapshots added (`SparkMicroBatchStream`): it finds the snapshot of the last
offset and goes on with the one that came after it. The offset names no table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.domain.iceberg import APPEND, DELETE, MAIN, OVERWRITE, Snapshot, Table
from pipelines.domain.json_text import read_json

VERSION, SNAPSHOT, POSITION, WHOLE = "version", "snapshot_id", "position", "scan_all_files"
NO_SNAPSHOT = -1
"""Of a table that had no snapshot when the query began (`StreamingOffset.START_OFFSET`)."""
KEPT_SNAPSHOTS, KEPT_FOR, IS_CLEANED = "history.expire.min-snapshots-to-keep", "history.expire.max-snapshot-age-ms", "gc.enabled"
DEFAULT_KEPT_MS, DEFAULT_KEPT_SNAPSHOTS = 432_000_000, 1
"""What `expire_snapshots` leaves where the table does not say it (`TableProperties`)."""
SKIPPING = {DELETE: "streaming-skip-delete-snapshots", OVERWRITE: "streaming-skip-overwrite-snapshots"}
"""Operation -> the option with which the source passes over such snapshots: else it fails there."""


@dataclass(frozen=True)
class Position:
    """A place in a table (Iceberg's `StreamingOffset`): `read` of the files that `snapshot` added are done, and all snapshots before it.

    `in_snapshot`: the files are all those that the table had then.
    """

    snapshot: int
    read: int = 0
    in_snapshot: bool = False

    @property
    def begun(self) -> bool:
        return self.snapshot != NO_SNAPSHOT


@dataclass(frozen=True)
class Way:
    """What lies on the way from a position to the newest snapshot: that of the position itself, then each that came after it.

    `lost`: the snapshot that is missing on it; None where it is whole, or the position's own was taken back.
    """

    snapshots: tuple[Snapshot, ...] = ()
    lost: int | None = None
    why: str = ""
    """Why it cannot be gone; empty where it can."""


def position_of(offset: str) -> Position | None:
    """Spark's JSON of an Iceberg offset as a position; None for any other."""
    try:
        raw = read_json(offset)
    except ValueError:
        return None
    if not isinstance(raw, dict) or not {VERSION, SNAPSHOT, POSITION, WHOLE} <= raw.keys():
        return None
    snapshot, read = raw[SNAPSHOT], raw[POSITION]
    return Position(snapshot, max(0, read), raw[WHOLE] is True) if type(snapshot) is type(read) is int else None


def offset_of(place: Position) -> str:
    """The position as Iceberg writes it."""
    read = place.read if place.begun else -1
    return json.dumps({VERSION: 1, SNAPSHOT: place.snapshot, POSITION: read, WHOLE: place.in_snapshot}, separators=(",", ":"))


def way(table: Table, at: Position) -> Way:
    """The way from `at` on, as Iceberg goes it."""
    line = list(table.of_branch(MAIN))
    oldest = line[-1] if line else None
    if not at.begun:
        return Way(tuple(reversed(line))) if oldest is None or oldest.parent is None else _expired(oldest.parent)
    passed = [number for number, snapshot in enumerate(line) if snapshot.id == at.snapshot]
    if passed:
        return Way(tuple(reversed(line[: passed[0] + 1])))
    if at.snapshot not in table.snapshots:
        return Way(lost=at.snapshot, why=f"snapshot {at.snapshot} has expired, or the table was made anew")
    if oldest is not None and oldest.parent is not None:
        return _expired(oldest.parent)
    return Way(why=f"snapshot {at.snapshot} is none of those that its present one came from, as after a roll-back")


def _expired(snapshot: int) -> Way:
    return Way(lost=snapshot, why=f"snapshot {snapshot} has expired")


def left(way_on: Way, at: Position) -> Iterator[tuple[Snapshot, int]]:
    """The snapshots that have files to read, each with how many: others change no rows, or end the query."""
    for snapshot in way_on.snapshots:
        files = snapshot.added_files - (at.read if snapshot.id == at.snapshot else 0)
        if snapshot.operation == APPEND and files > 0:
            yield snapshot, files


def end(way_on: Way, at: Position) -> Snapshot | None:
    """The first snapshot on the way at which the source fails, unless an option of `SKIPPING` is set."""
    later = (snapshot for snapshot in way_on.snapshots if snapshot.id != at.snapshot)
    return next((snapshot for snapshot in later if snapshot.operation in SKIPPING), None)


def kept_ms(table: Table) -> int | None:
    """How long the table keeps a snapshot at least; None for ever, or where its own word for it is not understood."""
    text = table.kept_ms or table.properties.get(KEPT_FOR, str(DEFAULT_KEPT_MS))
    return int(text) if text.isdecimal() and table.properties.get(IS_CLEANED, "true").lower() != "false" else None


def until_ms(table: Table, way_on: Way) -> int | None:
    """When the first snapshot of the way may expire at the earliest (epoch ms); None where it is one of the newest, which always stay."""
    age_ms, fewest = kept_ms(table), table.kept_snapshots or table.properties.get(KEPT_SNAPSHOTS, "")
    stay = int(fewest) if fewest.isdecimal() else DEFAULT_KEPT_SNAPSHOTS
    return way_on.snapshots[0].at_ms + age_ms if age_ms is not None and len(way_on.snapshots) > stay else None


def latest(table: Table) -> Position:
    """Behind all that the table has."""
    newest = next(table.of_branch(MAIN), None)
    return Position(newest.id, newest.added_files) if newest is not None else Position(NO_SNAPSHOT)


def since(table: Table, at_ms: float) -> Position:
    """Before the first snapshot that was made at that time (epoch ms) or later; behind all where none was."""
    later = [snapshot for snapshot in table.of_branch(MAIN) if snapshot.at_ms >= at_ms]
    return Position(later[-1].id) if later else latest(table)


def distance(table: Table, before: Position, after: Position) -> tuple[int, int] | None:
    """Files that are skipped and files that are read again where a query at `before` goes on at `after`; None where nobody can count them,
    as the snapshots in between are gone."""
    ways = [way(table, place) for place in (before, after)]
    if any(route.why for route in ways):
        return None
    stood, goes = (sum(files for _, files in left(route, place)) for route, place in zip(ways, (before, after), strict=True))
    return max(0, stood - goes), max(0, goes - stood)
