"""What the newest batch of each query of all jobs says: what `/metrics` has of queries, operators and sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.catalog.connection import Reader
from pipelines.catalog.operators import backlog_of, operators_of
from pipelines.catalog.summaries import WINDOW_MS
from pipelines.catalog.tables import dicts
from pipelines.domain.jobs import JobSummary
from pipelines.domain.query_figures import MOST, QueryNow, SourceNow, kind_of
from pipelines.domain.sources import Backlog

# Times are looked for first: they alone are read of all batches, and a job that ended long ago costs no more than one that runs.
_NEWEST = """
WITH latest AS (
    SELECT * FROM latest_progress QUALIFY run = arg_max(run, at_ms) OVER (PARTITION BY job)
), whole AS (
    SELECT * FROM progress WHERE at_ms IN (SELECT at_ms FROM latest)
)
SELECT latest.job, latest.query, latest.run, latest.batch, latest.at_ms, latest.batch_ms, latest.input_rate, latest.processed_rate,
       latest.watermark_ms, latest.lag_ms, latest.event_max_ms, latest.late_rows, latest.state_rows, latest.state_bytes,
       whole.output_rows, whole.operators[:$most] AS operators, whole.backlog,
       json_transform(whole.sources, '[{"description": "VARCHAR", "numInputRows": "BIGINT", "inputRowsPerSecond": "DOUBLE",
                                        "processedRowsPerSecond": "DOUBLE"}]')[:$most] AS sources
FROM latest LEFT JOIN whole USING (job, query, run, at_ms, batch)
ORDER BY latest.job, latest.query
"""


def newest(reader: Reader, now_ms: int, jobs: Sequence[JobSummary]) -> list[QueryNow]:
    """The queries of `jobs` (newest run that made progress), by job and query, the first `MOST` of each job. What is not known of a job
    now (rates, lag, backlog) is not known of its queries either."""
    of_job: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in dicts(reader, _NEWEST, {"most": MOST}):
        of_job[row["job"]].append(row)
    return [_query(row, job, now_ms) for job in jobs for row in of_job[job.job.name][:MOST]]


def _query(row: Mapping[str, Any], job: JobSummary, now_ms: int) -> QueryNow:
    has_failed = job.state is not None and job.state.has_failed
    moves = job.input_rate is not None and (has_failed or row["at_ms"] >= now_ms - WINDOW_MS)
    ended_ms = row["at_ms"] + row["batch_ms"]
    clock_ms = ended_ms if has_failed or job.idle_since_ms is not None else now_ms
    lags = job.lag_ms is not None
    output_rate = row["output_rows"] / row["batch_ms"] * 1_000 if row["output_rows"] is not None and row["batch_ms"] else None
    return QueryNow(
        **{name: row[name] for name in ("job", "query", "run", "batch", "at_ms", "batch_ms", "late_rows", "state_rows", "state_bytes")},
        input_rate=row["input_rate"] if moves else None,
        processed_rate=row["processed_rate"] if moves else None,
        output_rate=output_rate if moves else None,
        lag_ms=_behind(clock_ms, row["event_max_ms"]) if lags else None,
        watermark_lag_ms=_behind(clock_ms, row["watermark_ms"]) if lags else None,
        operators=operators_of(row["operators"]),
        sources=tuple(_sources(row["sources"] or (), backlog_of(row["backlog"]) if job.backlog else (), moves)),
    )


def _behind(clock_ms: float, at_ms: int | None) -> float | None:
    return None if at_ms is None else max(0.0, clock_ms - at_ms)


def _sources(rows: Sequence[Mapping[str, Any]], backlog: Sequence[Backlog], moves: bool) -> list[SourceNow]:
    return [
        SourceNow(
            name=kind_of(row["description"] or ""),
            rows=row["numInputRows"],
            input_rate=row["inputRowsPerSecond"] if moves else None,
            processed_rate=row["processedRowsPerSecond"] if moves else None,
            backlog=tuple(part for part in backlog if part.source == at),
        )
        for at, row in enumerate(rows)
    ]
