"""Reads one line of each growing file; Corrupt where it is not such a line, or holds a number that the catalog could not keep."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pipelines.catalog.idle import IdleMoment
from pipelines.catalog.sizes import CheckpointSize
from pipelines.domain.bounds import Count, Long, Moment
from pipelines.domain.errors import Corrupt
from pipelines.domain.events import DRIVER
from pipelines.domain.ids import JobName, RunId, query_name
from pipelines.domain.jobs import Event
from pipelines.domain.json_text import read_json
from pipelines.domain.progress import Progress, progress_fields
from pipelines.domain.runs import DriverEvent, QueryStarted
from pipelines.storage import documents

SOURCE_FIELDS = ("description", "startOffset", "endOffset", "numInputRows")
LATEST = "latestOffset"
"""Kept where the source says it: a file source does not."""
LINE = "the line"
_ascii = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_NO_NUMBERS = ("NaN", "Infinity")


@dataclass(frozen=True)
class Size:
    """One line of `sizes.jsonl`."""

    at_ms: Moment
    checkpoint_bytes: Count
    state_bytes: Count
    log_bytes: Count
    source_bytes: Count


@dataclass(frozen=True)
class Idle:
    """One line of `idle.jsonl`."""

    at_ms: Moment
    query_id: str


@dataclass(frozen=True)
class _Batch:
    """What a line of `progress.jsonl` says, with its bounds."""

    progress: Progress
    source_rows: tuple[Long | None, ...]


def progress(line: bytes) -> tuple[Progress, str]:
    """A batch, under the name of its query's folder, and its sources as JSON text."""
    try:
        raw = _read(line)
        raw["name"] = query_name(raw.get("name") or "")
        sources = [_source(source) for source in raw.get("sources") or ()]
        batch = {"progress": progress_fields(raw), "source_rows": [source["numInputRows"] for source in sources]}
        text = _text(sources)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise Corrupt("document.malformed", f"{type(error).__name__}: {error}", "Nothing is lost but this line.") from error
    return documents.made(_Batch, batch, LINE).progress, text


def _read(line: bytes) -> Any:
    """What the line says; a text of the job's own in it may be no Unicode, which the quick reader refuses."""
    try:
        return documents.parse(line)
    except ValueError:
        return read_json(line.decode())


def _text(sources: Any) -> str:
    """The sources as JSON; ValueError where a number of theirs is none. What is no Unicode the quick writer refuses, too."""
    try:
        text = documents.compact(sources)
    except ValueError:
        return _ascii(sources)
    return _ascii(sources) if any(name in text for name in _NO_NUMBERS) else text


def _source(raw: dict[str, Any]) -> dict[str, Any]:
    fields = {name: raw.get(name) for name in SOURCE_FIELDS}
    return fields if raw.get(LATEST) is None else {**fields, LATEST: raw[LATEST]}


def query(line: bytes) -> QueryStarted:
    return documents.decode(QueryStarted, line, LINE)


def idle(line: bytes, job: JobName, run: RunId) -> IdleMoment:
    told = documents.decode(Idle, line, LINE)
    return IdleMoment(job, run, told.query_id, told.at_ms)


def driver_event(line: bytes, job: JobName, run: RunId) -> Event:
    event = documents.decode(DriverEvent, line, LINE)
    about = f"{event.query}: " if event.query else ""
    return Event(event.at_ms, event.kind, job, run, about + event.message, DRIVER)


def event(line: bytes) -> Event:
    return documents.decode(Event, line, LINE)


def size(line: bytes, job: JobName, run: RunId) -> CheckpointSize:
    size = documents.decode(Size, line, LINE)
    return CheckpointSize(job, run, size.at_ms, size.checkpoint_bytes, size.state_bytes, size.log_bytes, size.source_bytes)
