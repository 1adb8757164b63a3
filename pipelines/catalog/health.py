"""The overview's key figures and the small lines under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipelines.catalog import summaries
from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import dicts
from pipelines.domain.experiments import Health
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState

SPAN_MS = 900_000
POINTS = 60
_UP = [state.value for state in RunState if state.up]

_LINES = """
WITH moments AS (
    SELECT bucket, $begin + (bucket + 1) * $step AS t FROM range($points) AS buckets(bucket)
), batches AS (
    SELECT least((at_ms - $begin) // $step, $points - 1) AS bucket, sum(input_rows) * 1000.0 / $step AS input_rate,
           max(batch_ms) AS batch_ms, max(if(event_max_ms IS NULL, NULL, greatest(at_ms + batch_ms - event_max_ms, 0))) AS lag_ms
    FROM progress WHERE at_ms BETWEEN $begin AND $now GROUP BY 1
), ran AS (
    SELECT bucket, count(runs.id) AS running FROM moments LEFT JOIN runs
      ON runs.started_ms <= t AND coalesce(runs.ended_ms, CASE WHEN runs.state IN $up THEN t + 1 ELSE runs.started_ms END) > t
    GROUP BY bucket
), stored AS (
    SELECT bucket, coalesce(sum(savepoints.bytes), 0)::DOUBLE AS bytes FROM moments LEFT JOIN savepoints ON savepoints.created_ms <= t
    GROUP BY bucket
)
SELECT t::DOUBLE AS t, running::DOUBLE AS running_line, coalesce(input_rate, 0)::DOUBLE AS input_line, batch_ms AS batch_line,
       lag_ms::DOUBLE AS lag_line, bytes AS storage_line
FROM moments LEFT JOIN batches USING (bucket) JOIN ran USING (bucket) JOIN stored USING (bucket)
ORDER BY bucket
"""

_STORED = "SELECT count(*) AS savepoints, coalesce(sum(bytes), 0)::BIGINT AS bytes FROM savepoints"


def health(reader: Reader, now_ms: int, jobs: Sequence[JobSummary] | None = None, *, span_ms: int = SPAN_MS) -> Health:
    """Key figures of all jobs now, and lines of the last `span_ms`. `jobs` are their summaries where the caller has them."""
    known = summaries.listed(reader, now_ms) if jobs is None else jobs
    stored = dicts(reader, _STORED)[0]
    figures: dict[str, Any] = {"savepoints": stored["savepoints"], "savepoint_bytes": stored["bytes"]}
    figures |= _lines(reader, now_ms, max(span_ms, POINTS))
    return Health(**figures).as_of(known)


def _lines(reader: Reader, now_ms: int, span_ms: int) -> dict[str, tuple[Any, ...]]:
    """The lines of a `Health`, by name; all as long as `t`."""
    values = {"begin": now_ms - span_ms, "now": now_ms, "step": span_ms // POINTS, "points": POINTS, "up": _UP}
    rows = dicts(reader, _LINES, values)
    return {name: tuple(row[name] for row in rows) for name in rows[0]}
