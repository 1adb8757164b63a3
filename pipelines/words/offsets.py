"""Offsets of sources in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain import delta, offsets
from pipelines.domain.json_text import read_json
from pipelines.domain.moved_sources import MovedSource
from pipelines.domain.offsets import Position
from pipelines.domain.reported import ASIDE
from pipelines.words import formats

BEGINNING = "the beginning"
FILE_LOG = "logOffset"
"""The one field of an offset of files (FileStreamSourceOffset)."""


def words(text: str) -> str:
    """Spark's JSON of an offset in words: `entry 9 of the file log`, `clicks: 57 in 2 partitions`, `1,052`; an unknown shape as it is."""
    try:
        offset = read_json(text) if text else None
    except ValueError:
        return text
    if offset is None:
        return BEGINNING
    if place := offsets.in_table(text):
        return in_table(place)
    if isinstance(offset, dict):
        own = {name: value for name, value in offset.items() if name not in ASIDE}
        return formats.MISSING if offset and not own else _fields(own) or text
    return formats.count(offset) if type(offset) in (int, float) else text


def moved(source: MovedSource) -> str:
    """`source 0 of counts, 57 → 61: 4 rows skipped: the state never gets them`; a number in a log of files says nothing to anybody."""
    span = " (files)" if FILE_LOG in source.before else f", {words(source.before)} → {words(source.after)}"
    parts = [f"source {source.source} of {source.query}{span}"]
    unit = source.unit.removesuffix("s")
    if source.skipped:
        most = "at most " if source.at_most else ""
        parts.append(f"{most}{formats.plural(source.skipped, unit)} skipped: the state never gets them")
    if source.again:
        late = "what is older than its watermark counts as late"
        parts.append(f"{formats.plural(source.again, unit)} read again, which the state has already; {late}")
    if not source.is_counted:
        parts.append(f"how many {source.unit} are skipped or read again nobody can count")
    first, *others = parts
    return f"{first}: {'; '.join(others or ['nothing is skipped or read again'])}"


def _fields(offset: Mapping[str, Any]) -> str:
    if offset.keys() == {FILE_LOG} and type(offset[FILE_LOG]) is int:
        return f"entry {offset[FILE_LOG]:,} of the file log"
    if all(isinstance(parts, dict) and parts for parts in offset.values()):
        is_kafka = all(number.isdecimal() for parts in offset.values() for number in parts)
        return "; ".join((_topic if is_kafka else _part)(name, parts) for name, parts in offset.items())
    return "" if any(isinstance(value, dict | list) for value in offset.values()) else _named(offset)


def _named(values: Mapping[str, Any]) -> str:
    """`next 17, closed`: of what is true the name alone, of what is not, or is empty, nothing."""
    return ", ".join(name if value is True else f"{name} {value}" for name, value in values.items() if value is not False and value != "")


def _part(name: str, fields: Mapping[str, Any]) -> str:
    """A part of a source whose offsets have names, such as a shard."""
    return f"{name}: {_fields(fields)}" if _fields(fields) else name


def _topic(topic: str, parts: Mapping[str, Any]) -> str:
    """A topic's partitions as one sum: what each has is in the whole text."""
    if not all(type(value) is int for value in parts.values()):
        return f"{topic}: {formats.plural(len(parts), 'partition')}"
    return f"{topic}: {sum(parts.values()):,} in {formats.plural(len(parts), 'partition')}"


def in_table(place: Position) -> str:
    """Up to where a table was read: it goes on with that version, or within it; of Iceberg behind that many files of the snapshot."""
    read = f", {formats.plural(place.read, 'file')} of it read" if place.read else ""
    if not isinstance(place, delta.Position):
        return f"{'the whole of ' if place.in_snapshot else ''}snapshot {place.snapshot}{read}" if place.begun else BEGINNING
    return f"the whole of version {place.version:,}{read}" if place.in_snapshot else f"version {place.version:,}{read}"
