"""What changes over the batches of the last ten minutes: what sources have waiting, and the lag of event time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import dicts
from pipelines.domain.sources import Waiting
from pipelines.words.limits import LAGGING_MS

LATELY_MS, ENOUGH = 120_000, 5
"""What so many batches of the last two minutes tell stands before what all of the last ten minutes do: a job that turns is seen soon."""


def _slope(of: str, by: str) -> str:
    """The slope of a straight line as SQL: 0 where it is less than three times its own error, NULL for a single point."""
    lately = "at_ms >= $lately"
    return f"if(count(*) FILTER ({lately}) >= {ENOUGH}, {_line(of, by, lately)}, {_line(of, by, 'true')})"


def _line(of: str, by: str, which: str) -> str:
    line, explained, points = (f"{call} FILTER ({which})" for call in (f"regr_slope({of}, {by})", f"regr_r2({of}, {by})", "count(*)"))
    return f"if({points} > 2 AND coalesce({explained}, 1) * ({points} - 2) < 9 * (1 - coalesce({explained}, 1)), 0.0, {line})"


# Of each source the newest amount, and by how much it changed over the batches of the last ten minutes (the slope of a straight line).
_WAITING = """
WITH told AS (
    SELECT job, query, at_ms, unnest(backlog) AS source
    FROM progress SEMI JOIN latest_progress USING (job, query, run)
    WHERE at_ms BETWEEN $since AND $now AND $job IN ('', job) AND len(backlog) > 0
), sources AS (
    SELECT job, source.unit AS unit, arg_max(source.amount, at_ms) AS amount, {slope} AS per_second
    FROM told GROUP BY job, query, source.source, source.unit
)
SELECT job, unit, sum(amount)::BIGINT AS amount, sum(if(isnan(per_second), NULL, per_second)) AS per_second
FROM sources GROUP BY job, unit ORDER BY job, unit
""".format(slope=_slope("source.amount", "at_ms / 1000.0"))

# Of the query of each job that lags most, if it lags: by how many seconds the lag at a batch's end changes in a second.
_LAGGING = """
WITH told AS (
    SELECT job, query, at_ms, at_ms + batch_ms AS ended_ms, greatest(at_ms + batch_ms - event_max_ms, 0) AS lag_ms
    FROM progress SEMI JOIN (SELECT * FROM latest_progress WHERE $now - event_max_ms >= $least) AS late USING (job, query, run)
    WHERE at_ms BETWEEN $since AND $now AND $job IN ('', job) AND event_max_ms IS NOT NULL
), queries AS (
    SELECT job, arg_max(lag_ms, ended_ms) AS lag_ms, {slope} AS change FROM told GROUP BY job, query
)
SELECT job, arg_max(change, lag_ms) AS change FROM queries WHERE NOT isnan(change) GROUP BY job
""".format(slope=_slope("lag_ms / 1000.0", "ended_ms / 1000.0"))


def waiting(reader: Reader, since_ms: int, now_ms: int, job: str) -> Mapping[str, tuple[Waiting, ...]]:
    """Job -> what its sources have waiting."""
    job_sources: defaultdict[str, tuple[Waiting, ...]] = defaultdict(tuple)
    for row in dicts(reader, _WAITING, {"since": since_ms, "now": now_ms, "job": job, "lately": now_ms - LATELY_MS}):
        job_sources[row["job"]] += (Waiting(row["unit"], row["amount"], row["per_second"]),)
    return job_sources


def lag_changes(reader: Reader, since_ms: int, now_ms: int, job: str) -> Mapping[str, float]:
    """Job -> by how many seconds its lag changes in a second; of those that lag alone."""
    asked = {"since": since_ms, "now": now_ms, "job": job, "lately": now_ms - LATELY_MS, "least": LAGGING_MS}
    return {row["job"]: row["change"] for row in dicts(reader, _LAGGING, asked)}
