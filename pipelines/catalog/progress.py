"""Progress of batches into the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, get_type_hints

from pipelines.catalog import observed, operators
from pipelines.catalog.connection import Writer
from pipelines.catalog.tables import REAL, TEXT, WHOLE, incoming
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.progress import Progress

_TYPES: dict[Any, str] = {str: TEXT, int: WHOLE, int | None: WHOLE, float: REAL, float | None: REAL}
_LISTS = (operators.OPERATORS, operators.BACKLOG, observed.OBSERVED)
_PLAIN = {name: _TYPES[kind] for name, kind in get_type_hints(Progress).items() if name not in _LISTS}
_COLUMNS = {"job": TEXT, "run": TEXT, **_PLAIN, "sources": TEXT}
_values = attrgetter(*_PLAIN)

_FRESH = """
CREATE TEMP TABLE fresh AS
SELECT DISTINCT ON (run, query_id, spark_run_id, batch) * FROM incoming AS new
WHERE NOT EXISTS (
    SELECT 1 FROM progress AS old
    WHERE old.at_ms BETWEEN ? AND ?
      AND old.run = new.run AND old.query_id = new.query_id AND old.spark_run_id = new.spark_run_id AND old.batch = new.batch
)
"""

# arg_max passes over NULLs: a batch that says nothing of a value leaves the last one that was said.
# The usual gap is a mean of logarithms in which each new step weighs a twentieth.
_LATEST = """
INSERT INTO progress BY NAME SELECT * FROM fresh ORDER BY at_ms;
CREATE TEMP TABLE moved AS
WITH candidates AS (
    SELECT job, query, run, at_ms, batch, batch_ms, input_rate, processed_rate, watermark_ms,
           if(event_max_ms IS NULL, NULL, greatest(at_ms + batch_ms - event_max_ms, 0)) AS lag_ms, late_rows, state_rows, state_bytes,
           event_max_ms, observed
    FROM fresh
    UNION ALL BY NAME
    SELECT * FROM latest_progress WHERE (job, query) IN (SELECT (job, query) FROM fresh)
), newest AS (
    SELECT job, query, arg_max(run, at_ms) AS newest_run FROM candidates GROUP BY ALL
), steps AS (
    SELECT job, query, ln(at_ms - lag(at_ms) OVER (PARTITION BY job, query, run ORDER BY at_ms)) AS step
    FROM (SELECT DISTINCT job, query, run, at_ms FROM candidates)
), gaps AS (
    SELECT job, query, avg(step) AS step, least(count(step) / 20, 1) AS weight FROM steps GROUP BY ALL
)
SELECT job, query, newest_run AS run, max(at_ms) AS at_ms, arg_max(batch, at_ms) AS batch, arg_max(batch_ms, at_ms) AS batch_ms,
       arg_max(input_rate, at_ms) AS input_rate, arg_max(processed_rate, at_ms) AS processed_rate,
       arg_max(watermark_ms, at_ms) AS watermark_ms, arg_max(lag_ms, at_ms) AS lag_ms,
       sum(late_rows) FILTER (run = newest_run)::BIGINT AS late_rows,
       arg_max(state_rows, at_ms) AS state_rows, arg_max(state_bytes, at_ms) AS state_bytes,
       arg_max(event_max_ms, at_ms) AS event_max_ms, arg_max(observed, at_ms) FILTER (run = newest_run) AS observed,
       exp(coalesce(any_value((1 - weight) * ln(gap_ms) + weight * step), any_value(step), any_value(ln(gap_ms)))) AS gap_ms
FROM candidates JOIN newest USING (job, query) JOIN gaps USING (job, query)
GROUP BY job, query, newest_run;
DELETE FROM latest_progress WHERE (job, query) IN (SELECT (job, query) FROM moved);
INSERT INTO latest_progress BY NAME SELECT * FROM moved;
DROP TABLE moved;
DROP TABLE fresh;
"""


def append(writer: Writer, rows: Sequence[tuple[JobName, RunId, Progress, str]]) -> None:
    """Add batches' progress, each with its sources as Spark's JSON text.

    One of the same run, query id, Spark run id and batch is not added again, so reading a file twice doubles nothing.
    Duplicates are searched between the first and the last time of `rows`: a batch keeps the time of its trigger.
    """
    if not rows:
        return
    times = [progress.at_ms for _, _, progress, _ in rows]
    arrived = [(job, run, *_values(progress), sources) for job, run, progress, sources in rows]
    batches = [progress for _, _, progress, _ in rows]
    with incoming(writer, _COLUMNS, arrived, operators.arrow_columns(batches) | observed.arrow_columns(batches)):
        writer.execute(_FRESH, [min(times), max(times)])
    writer.execute(_LATEST)


def forget_before(writer: Writer, run: RunId, at_ms: int) -> None:
    """Remove the run's batches that began before `at_ms`, but for the newest of each query: what it said last stays known."""
    newest = "SELECT (query, at_ms) FROM latest_progress WHERE run = $run"
    writer.execute(f"DELETE FROM progress WHERE run = $run AND at_ms < $at AND (query, at_ms) NOT IN ({newest})", {"run": run, "at": at_ms})
