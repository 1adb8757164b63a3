"""Points of jobs that can be compared: a savepoint, a job or run at its present checkpoint, a version. All that is known of each."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.versions import Version


class PointKind(enum.StrEnum):
    """The kind of a point: a savepoint, a job or run (its present checkpoint), or a version (no checkpoint)."""

    SAVEPOINT = "savepoint"
    JOB = "job"
    RUN = "run"
    VERSION = "version"


@dataclass(frozen=True)
class StateStore:
    """A store (or column family) of a stateful operator; schemas as `name type, …`, None where the checkpoint does not say."""

    name: str
    key: str | None
    value: str | None


@dataclass(frozen=True)
class StateOperator:
    """A stateful operator at a point."""

    id: int
    name: str
    partitions: int
    stores: tuple[StateStore, ...]
    rows: int | None
    """As a proof read them, else as the job's progress said at that batch; None where neither is known."""
    bytes: int | None
    """Of the files that a restart needs."""


@dataclass(frozen=True)
class QueryPoint:
    """A query at a point."""

    image: QueryImage
    operators: tuple[StateOperator, ...]


@dataclass(frozen=True)
class Point:
    """All that is known of one point. `queries` is None where no checkpoint is known, and `note` says why."""

    named: str
    kind: PointKind
    job: JobName
    run: RunId | None
    version: Version
    spark_version: str
    at_ms: int
    queries: tuple[QueryPoint, ...] | None
    label: str = ""
    note: str = ""


@dataclass(frozen=True)
class PointHead:
    """A point as it is named in an answer."""

    named: str
    kind: PointKind
    job: JobName
    run: RunId | None
    version: VersionId
    script: str
    batch: int | None
    """Of its first query."""
    at_ms: int
    label: str
    note: str


def head(point: Point) -> PointHead:
    """The point without its queries."""
    batch = point.queries[0].image.batch if point.queries else None
    version = point.version
    return PointHead(point.named, point.kind, point.job, point.run, version.id, version.script, batch, point.at_ms, point.label, point.note)
