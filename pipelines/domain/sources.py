"""What the sources of a batch read, and had waiting, of Spark's progress event (`SourceProgress`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.domain import reported
from pipelines.domain.bounds import Long
from pipelines.domain.json_text import read_json

_RATE = re.compile(r"^RateStreamV2\[rowsPerSecond=([0-9]+)")


@dataclass(frozen=True)
class Backlog:
    """What one source had waiting at the end of a batch: `amount` in `unit` (rows, files, bytes, or offsets of its own kind)."""

    source: Long
    """Its place in the progress event."""
    name: str
    """Spark's description of it."""
    amount: Long
    unit: str


@dataclass(frozen=True)
class Waiting:
    """What all sources of a job have waiting in one unit, and by how much that grows (shrinks, below zero) in a second; None where too few
    batches tell."""

    unit: str
    amount: int
    per_second: float | None


@dataclass(frozen=True)
class SourceSeen:
    """A source in one batch; offsets as Spark's JSON text, empty where there is none."""

    description: str
    start: str
    end: str
    latest: str
    """The newest offset that the source has, where it says so."""
    rows: Long | None
    backlog: tuple[Backlog, ...] = ()


@dataclass(frozen=True)
class BacklogSeries:
    """What one source had waiting over time, in one unit."""

    query: str
    source: int
    name: str
    unit: str
    t: tuple[float, ...]
    amount: tuple[int, ...]


def read_backlog(raw: Mapping[str, Any]) -> tuple[Backlog, ...]:
    """What the sources of a progress event had waiting; nothing for a source that does not say."""
    sources = raw.get("sources") or ()
    return tuple(
        Backlog(at, str(source.get("description", "")), amount, unit)
        for at, source in enumerate(sources)
        for amount, unit in _backlog(source)
    )


def read_sources(raw: Sequence[Mapping[str, Any]], backlog: Sequence[Backlog]) -> tuple[SourceSeen, ...]:
    """The sources as they are kept beside a batch, each with its part of `backlog`."""
    return tuple(
        SourceSeen(
            description=str(source.get("description", "")),
            start=_text(source.get("startOffset")),
            end=_text(source.get("endOffset")),
            latest=_text(source.get("latestOffset")),
            rows=source.get("numInputRows"),
            backlog=tuple(part for part in backlog if part.source == at),
        )
        for at, source in enumerate(raw)
    )


def _backlog(source: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Files and bytes where the source says them; else what lies between the offset that was read and the newest there is."""
    metrics = source.get("metrics") or {}
    outstanding = [(metrics.get(name), unit) for name, unit in (("numFilesOutstanding", "files"), ("numBytesOutstanding", "bytes"))]
    amounts = [(int(value), unit) for value, unit in outstanding if value is not None]
    yield from amounts or _behind(source)


def _behind(source: Mapping[str, Any]) -> list[tuple[int, str]]:
    """What lies between the two: rows for offsets like `{"topic":{"0":N}}` and of a rate source; `offsets` for any other number."""
    if source.get("latestOffset") is None:
        return []
    end, latest = _parsed(source.get("endOffset")), _parsed(source.get("latestOffset"))
    if type(end) is int and type(latest) is int:
        rate = _RATE.search(str(source.get("description", "")))
        steps = max(0, latest - end)
        return [(steps * int(rate[1]), "rows")] if rate else [(steps, "offsets")]
    if not (_partitioned(end) and _partitioned(latest)):
        waits = reported.waits(_text(source.get("endOffset")), _text(source.get("latestOffset")))
        return [] if waits is None else [(waits, "offsets")]
    rows = (last - end.get(topic, {}).get(partition, 0) for topic, parts in latest.items() for partition, last in parts.items())
    return [(sum(max(0, some) for some in rows), "rows")]


def _partitioned(offset: Any) -> bool:
    return (
        isinstance(offset, dict)
        and bool(offset)
        and all(
            isinstance(parts, dict) and all(key.isdigit() and type(value) is int for key, value in parts.items())
            for parts in offset.values()
        )
    )


def _parsed(offset: Any) -> Any:
    """The offset as a value: Spark writes it as JSON, or as text that holds JSON."""
    try:
        return read_json(offset) if isinstance(offset, str) else offset
    except ValueError:
        return offset


def _text(offset: Any) -> str:
    if offset is None or isinstance(offset, str):
        return offset or ""
    return json.dumps(offset, separators=(",", ":"))
