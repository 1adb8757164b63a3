"""Positions of a source, read from Spark's offset JSON: a place in a log, a number, or one number a partition."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain import delta, iceberg_offsets, kafka
from pipelines.domain.json_text import read_json

NOTHING = "nothing read yet"
IN_TABLE, IN_SNAPSHOT = "version of the Delta table", "version of the Delta table, read whole"
OF_ICEBERG = "snapshot of the Iceberg table"
Position = delta.Position | iceberg_offsets.Position
"""A place in a table."""


def in_table(offset: str) -> Position | None:
    """Spark's JSON of an offset as a place in a Delta or an Iceberg table; None for any other source's."""
    return delta.position_of(offset) or iceberg_offsets.position_of(offset)


def positions(offset: str) -> dict[str, str | int]:
    """Name of a place -> where it stands: `{"clicks, partition 0": 120}`, `{"entry of the file log": 12}`; the text where unknown."""
    try:
        read = read_json(offset)
    except ValueError:
        return {"offset": offset}
    if read is None:
        return {"offset": NOTHING}
    if place := in_table(offset):
        return _in_table(place)
    if isinstance(read, dict) and read:
        return {name: value for key, inner in read.items() for name, value in _member(key, inner).items()}
    return {"offset": _plain(read)}


@dataclass(frozen=True)
class PartitionOffset:
    """A partition of a topic in one batch: up to where it was read, and how far it goes; None where that is not said."""

    topic: str
    partition: int
    read: int | None
    latest: int | None

    @property
    def lag(self) -> int | None:
        """Rows that wait."""
        return None if self.latest is None else max(0, self.latest - (self.read or 0))


def partitions(end: str, latest: str) -> list[PartitionOffset]:
    """The partitions in two offsets of Kafka's (`{"clicks":{"0":17}}`), by topic and number; none of any other source."""
    read, newest = kafka.offsets_of(end) or {}, kafka.offsets_of(latest) or {}
    places = {(topic, number) for offsets in (read, newest) for topic, parts in offsets.items() for number in parts}
    at = [(topic, number, read.get(topic, {}), newest.get(topic, {})) for topic, number in sorted(places)]
    return [PartitionOffset(topic, number, ends.get(number), latest.get(number)) for topic, number, ends, latest in at]


def _in_table(place: Position) -> dict[str, str | int]:
    """A snapshot by its text: its number is longer than what a page counts with."""
    if isinstance(place, delta.Position):
        return {IN_SNAPSHOT if place.in_snapshot else IN_TABLE: place.version, "files of that version read": place.read}
    return {OF_ICEBERG: str(place.snapshot) if place.begun else NOTHING, "files of that snapshot read": place.read}


def _member(key: str, value: Any) -> Mapping[str, str | int]:
    if key == "logOffset":
        return {"entry of the file log": _plain(value)}
    if isinstance(value, dict) and value and not all(name.isdecimal() for name in value):
        return {f"{key}, {name}": _plain(place) for name, place in sorted(value.items())}
    if isinstance(value, dict) and value and all(isinstance(place, int) for place in value.values()):
        return {f"{key}, partition {name}": place for name, place in sorted(value.items(), key=lambda pair: _place(pair[0]))}
    return {key: _plain(value)}


def _place(name: str) -> tuple[int, str]:
    """Partitions in the order of their numbers."""
    return (int(name), "") if name.isdecimal() else (0, name)


def _plain(value: Any) -> str | int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole or isinstance(value, str) else json.dumps(value)
