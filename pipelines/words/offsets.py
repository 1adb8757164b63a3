"""Offsets of sources in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain import delta
from pipelines.domain.delta import Position
from pipelines.domain.json_text import read_json
from pipelines.words import formats

BEGINNING = "the beginning"


def words(text: str) -> str:
    """Spark's JSON of an offset in words: `entry 9 of the file log`, `clicks: 57 in 2 partitions`, `1,052`; an unknown shape as it is."""
    try:
        offset = read_json(text) if text else None
    except ValueError:
        return text
    if offset is None:
        return BEGINNING
    if place := delta.position_of(text):
        return _in_table(place)
    if isinstance(offset, dict):
        return _fields(offset) or text
    return formats.count(offset) if type(offset) in (int, float) else text


def _fields(offset: Mapping[str, Any]) -> str:
    if offset.keys() == {"logOffset"} and type(offset["logOffset"]) is int:
        return f"entry {offset['logOffset']:,} of the file log"
    if all(isinstance(parts, dict) and parts for parts in offset.values()):
        return "; ".join(_topic(topic, parts) for topic, parts in offset.items())
    return "" if any(isinstance(value, dict | list) for value in offset.values()) else ", ".join(f"{n} {v}" for n, v in offset.items())


def _topic(topic: str, parts: Mapping[str, Any]) -> str:
    """A topic's partitions as one sum: what each has is in the whole text."""
    if not all(type(value) is int for value in parts.values()):
        return f"{topic}: {formats.plural(len(parts), 'partition')}"
    return f"{topic}: {sum(parts.values()):,} in {formats.plural(len(parts), 'partition')}"


def _in_table(place: Position) -> str:
    """Up to where a Delta table was read: it goes on with that version, or within it."""
    read = f", {formats.plural(place.read, 'file')} of it read" if place.read else ""
    return f"the whole of version {place.version:,}{read}" if place.in_snapshot else f"version {place.version:,}{read}"
