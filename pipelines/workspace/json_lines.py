"""Parses one line of each growing file; raises ValueError, KeyError or TypeError where it is not such a line."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pipelines.catalog.idle import IdleMoment
from pipelines.catalog.sizes import CheckpointSize
from pipelines.domain.events import DRIVER
from pipelines.domain.ids import JobName, QueryName, RunId, query_name
from pipelines.domain.jobs import Event
from pipelines.domain.progress import Progress, read_progress
from pipelines.domain.runs import QueryStarted

SOURCE_FIELDS = ("description", "startOffset", "endOffset", "numInputRows")
LATEST = "latestOffset"
"""Kept where the source says it: a file source does not."""


def progress(line: bytes) -> tuple[Progress, str]:
    """A batch, under the name of its query's folder, and its sources as JSON text."""
    raw = json.loads(line)
    read = read_progress(raw)
    sources = [_source(source) for source in raw.get("sources") or ()]
    return replace(read, query=query_name(read.query)), json.dumps(sources, separators=(",", ":"))


def _source(raw: dict[str, Any]) -> dict[str, Any]:
    fields = {name: raw.get(name) for name in SOURCE_FIELDS}
    return fields if raw.get(LATEST) is None else {**fields, LATEST: raw[LATEST]}


def query(line: bytes) -> QueryStarted:
    raw: dict[str, Any] = json.loads(line)
    return QueryStarted(**{**raw, "query": QueryName(raw["query"]), "sources": tuple(raw.get("sources", ()))})


def idle(line: bytes, job: JobName, run: RunId) -> IdleMoment:
    return IdleMoment(job, run, int(json.loads(line)["at_ms"]))


def driver_event(line: bytes, job: JobName, run: RunId) -> Event:
    raw = json.loads(line)
    about = f"{raw['query']}: " if raw.get("query") else ""
    return Event(int(raw["at_ms"]), str(raw["kind"]), job, run, about + str(raw["message"]), DRIVER)


def event(line: bytes) -> Event:
    raw = json.loads(line)
    return Event(int(raw["at_ms"]), str(raw["kind"]), raw["job"], str(raw["subject"]), str(raw["message"]), str(raw.get("actor", "")))


def size(line: bytes, job: JobName, run: RunId) -> CheckpointSize:
    raw = json.loads(line)
    figures = (raw["checkpoint_bytes"], raw["state_bytes"], raw["log_bytes"], raw["source_bytes"])
    return CheckpointSize(job, run, int(raw["at_ms"]), *(int(part) for part in figures))
