"""Domain values for the catalog's tests, with what a test does not care about filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.domain.ids import JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Job, Origin, Run
from pipelines.domain.progress import Progress
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import QueryImage, Reason, Savepoint, SourceOffset

A = JobName("a")
RUN = RunId("r-1")

_PROGRESS = Progress(
    query="q",
    query_id="id-q",
    spark_run_id="spark-1",
    batch=0,
    at_ms=0,
    batch_ms=500.0,
    input_rows=100,
    input_rate=10.0,
    processed_rate=20.0,
    add_batch_ms=300.0,
    get_batch_ms=1.0,
    latest_offset_ms=2.0,
    planning_ms=3.0,
    wal_commit_ms=4.0,
    commit_offsets_ms=5.0,
    commit_batch_ms=None,
    watermark_ms=None,
    event_min_ms=None,
    event_avg_ms=None,
    event_max_ms=None,
    late_rows=0,
    state_rows=None,
    state_bytes=None,
    output_rows=None,
)


def batch(number: int, at_ms: int, **values: Any) -> tuple[JobName, RunId, Progress, str]:
    """One batch of job a, run r-1."""
    return A, RUN, replace(_PROGRESS, batch=number, at_ms=at_ms, **values), "[]"


def job(name: str, created_ms: int = 1, origin: Origin | None = None) -> Job:
    return Job(JobName(name), created_ms, origin)


def run(name: str, of: str = "a", state: RunState = RunState.RUNNING, created_ms: int = 1000, **values: Any) -> Run:
    return Run(RunId(name), JobName(of), VersionId("v-1"), state, created_ms, started_ms=created_ms, **values)


def savepoint(name: str, of: str = "a", created_ms: int = 5000, *, bytes: int = 10) -> Savepoint:
    image = QueryImage(
        query="q",  # type: ignore[arg-type]
        query_id="id-q",
        batch=7,
        batch_timestamp_ms=4000,
        watermark_ms=0,
        offsets=(SourceOffset("0", '{"logOffset":3}'),),
        provider="rocksdb",
        state_format=2,
        operators=(),
        conf={"spark.sql.shuffle.partitions": "2"},
        sink="parquet",
        sink_path="/out",
        files=3,
        bytes=bytes,
    )
    return Savepoint(
        id=SavepointId(name),
        job=JobName(of),
        version=VersionId("v-1"),
        run=RUN,
        created_ms=created_ms,
        reason=Reason.MANUAL,
        label="before the release",
        spark_version="4.3.0",
        queries=(image,),
        files=3,
        bytes=bytes,
        new_bytes=1,
        took_ms=2.5,
        path=f"/workspace/savepoints/{name}",
    )
