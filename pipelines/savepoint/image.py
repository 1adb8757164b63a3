"""A running job as a savepoint sees it: its version, and where each query keeps its checkpoint and its sink."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.domain.ids import JobName, QueryName, RunId
from pipelines.domain.runs import QueryStarted
from pipelines.domain.versions import Version


@dataclass(frozen=True)
class QueryPlace:
    """Where one query lives: `checkpoint` and `sink_path` are absolute paths or URLs."""

    query: QueryName
    checkpoint: str
    sink: str
    sink_path: str
    sink_table: str = ""


@dataclass(frozen=True)
class JobImage:
    """All that taking a savepoint must be told about a job."""

    job: JobName
    run: RunId | None
    version: Version
    spark_version: str
    queries: tuple[QueryPlace, ...]


def job_image(job: JobName, run: RunId | None, version: Version, started: Iterable[QueryStarted]) -> JobImage:
    """The image of a job from its run's `queries.jsonl`: the last start of each query counts."""
    newest = {record.query: record for record in started}
    places = tuple(QueryPlace(one.query, one.checkpoint, one.sink, one.sink_path, one.sink_table) for one in newest.values())
    spark_version = next((record.spark_version for record in newest.values()), "")
    return JobImage(job, run, version, spark_version, places)
