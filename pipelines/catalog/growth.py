"""What the state and the checkpoints of jobs were at an earlier moment, for rules about how much they grow."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import dicts
from pipelines.domain.moments import HOUR_MS

BACK_MS = 6 * HOUR_MS
"""So long before that moment it is looked for the batch whose state stood then."""


def _then(column: str) -> str:
    """Its value at the moment as SQL: the last one before that, else the first one since."""
    return f"coalesce(arg_max({column}, at_ms) FILTER (at_ms <= $at), arg_min({column}, at_ms) FILTER (at_ms > $at)) AS {column}"


# What has told nothing since is as it was.
_THEN = f"""
WITH latest AS (
    SELECT * FROM latest_progress QUALIFY run = arg_max(run, at_ms) OVER (PARTITION BY job)
), told AS (
    SELECT job, query, {_then("state_rows")}, {_then("state_bytes")} FROM progress WHERE at_ms >= $at - $back GROUP BY job, query
), states AS (
    SELECT job, sum(coalesce(told.state_rows, latest.state_rows))::BIGINT AS state_rows,
           sum(coalesce(told.state_bytes, latest.state_bytes))::BIGINT AS state_bytes
    FROM latest LEFT JOIN told USING (job, query) GROUP BY job
), checkpoints AS (
    SELECT job, {_then("checkpoint_bytes")} FROM sizes WHERE at_ms >= $at - $back GROUP BY job
)
SELECT job, states.state_rows, states.state_bytes, coalesce(checkpoints.checkpoint_bytes, latest_size.checkpoint_bytes) AS checkpoint_bytes
FROM states FULL JOIN latest_size USING (job) LEFT JOIN checkpoints USING (job)
"""


def then(reader: Reader, at_ms: int) -> Mapping[str, Mapping[str, int | None]]:
    """Job -> the figures in `alert_rules.GROWING` as they were at that moment, or first after it; None where nothing is known."""
    return {row.pop("job"): row for row in dicts(reader, _THEN, {"at": at_ms, "back": BACK_MS})}
