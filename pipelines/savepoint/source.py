"""What a savepoint is taken of: a job's version, and where each of its queries keeps its checkpoint and its sink."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.domain.ids import JobName, QueryName, RunId
from pipelines.domain.installed import Installed
from pipelines.domain.runs import QueryStarted
from pipelines.domain.versions import Version


@dataclass(frozen=True)
class QueryLocation:
    """Where one query lives: `checkpoint` and `sink_path` are absolute paths or URLs."""

    query: QueryName
    checkpoint: str
    sink: str
    sink_path: str
    sink_table: str = ""
    sources: tuple[str, ...] = ()
    location: str = ""
    """What the script itself said for the checkpoint (`QueryStarted.location`)."""
    brokers: tuple[str, ...] = ()
    """As `QueryStarted.brokers`."""
    tables: tuple[str, ...] = ()
    """As `QueryStarted.tables`."""
    removals: tuple[str, ...] = ()
    """As `QueryStarted.removals`."""
    operators: int = 0
    """Stateful operators that the query is known to have at least, whatever is left of its checkpoint."""


@dataclass(frozen=True)
class JobSource:
    """The parts of a job that taking a savepoint needs."""

    job: JobName
    run: RunId | None
    version: Version
    spark_version: str
    queries: tuple[QueryLocation, ...]
    installed: Installed | None = None
    """What the run stands on; None where its driver did not note it."""
    outside: str = ""
    """The folder in which its workspace keeps large files of versions, by their hash; empty where there is none."""


def job_source(job: JobName, run: RunId | None, version: Version, started: Iterable[QueryStarted]) -> JobSource:
    """The source of a savepoint, from its run's `queries.jsonl`: the last start of each query counts."""
    newest = {record.query: record for record in started}
    places = tuple(
        QueryLocation(
            record.query,
            record.checkpoint,
            record.sink,
            record.sink_path,
            record.sink_table,
            record.sources,
            record.location,
            record.brokers,
            record.tables,
            record.removals,
            record.operators,
        )
        for record in newest.values()
    )
    spark_version = next((record.spark_version for record in newest.values()), "")
    return JobSource(job, run, version, spark_version, places)
