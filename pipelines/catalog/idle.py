"""The newest idle moment of each query, in the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.catalog.connection import Writer
from pipelines.catalog.tables import TEXT, WHOLE, incoming
from pipelines.domain.ids import JobName, RunId


@dataclass(frozen=True)
class IdleMoment:
    """A query of a run had worked off all its data at this moment (Spark's `QueryIdleEvent`)."""

    job: JobName
    run: RunId
    query_id: str
    at_ms: int


_COLUMNS = {"job": TEXT, "run": TEXT, "query_id": TEXT, "at_ms": WHOLE}

_LATEST = """
CREATE TEMP TABLE moved AS
WITH candidates AS (
    SELECT job, run, query_id, at_ms, NULL::BIGINT AS gap_ms FROM incoming
    UNION ALL
    SELECT job, run, query_id, at_ms, gap_ms FROM latest_idle WHERE job IN (SELECT job FROM incoming)
), steps AS (
    SELECT *, at_ms - lag(at_ms) OVER (PARTITION BY job, run, query_id ORDER BY at_ms) AS step_ms FROM candidates
)
SELECT * FROM (
    SELECT job, arg_max(run, at_ms) AS run, query_id, max(at_ms) AS at_ms, arg_max(coalesce(step_ms, gap_ms), at_ms) AS gap_ms
    FROM steps GROUP BY job, query_id
) QUALIFY run = arg_max(run, at_ms) OVER (PARTITION BY job);
DELETE FROM latest_idle WHERE job IN (SELECT job FROM moved);
INSERT INTO latest_idle BY NAME SELECT * FROM moved;
DROP TABLE moved;
"""


def append(writer: Writer, moments: Sequence[IdleMoment]) -> None:
    """Notes the newest of `moments` of each query, with the time since the one before."""
    if moments:
        with incoming(writer, _COLUMNS, [(moment.job, moment.run, moment.query_id, moment.at_ms) for moment in moments]):
            writer.execute(_LATEST)
