"""Sizes of checkpoints over time, in the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.catalog.connection import Writer
from pipelines.catalog.tables import TEXT, WHOLE, incoming
from pipelines.domain.bounds import Count, Moment
from pipelines.domain.ids import JobName, RunId


@dataclass(frozen=True)
class CheckpointSize:
    """What a run's checkpoints (all its queries') took on the storage at one moment, in bytes, whole and by part."""

    job: JobName
    run: RunId
    at_ms: Moment
    checkpoint_bytes: Count
    state_bytes: Count
    log_bytes: Count
    """Offset and commit logs."""
    source_bytes: Count


_COLUMNS = {
    "job": TEXT,
    "run": TEXT,
    "at_ms": WHOLE,
    "checkpoint_bytes": WHOLE,
    "state_bytes": WHOLE,
    "log_bytes": WHOLE,
    "source_bytes": WHOLE,
}

_APPEND = """
INSERT INTO sizes BY NAME
SELECT DISTINCT ON (run, at_ms) * FROM incoming
WHERE (run, at_ms) NOT IN (SELECT (run, at_ms) FROM sizes WHERE at_ms BETWEEN ? AND ?)
"""

_LATEST = """
CREATE TEMP TABLE moved AS
SELECT job, arg_max(run, at_ms) AS run, max(at_ms) AS at_ms, arg_max(checkpoint_bytes, at_ms) AS checkpoint_bytes
FROM (
    SELECT job, run, at_ms, checkpoint_bytes FROM incoming
    UNION ALL
    SELECT job, run, at_ms, checkpoint_bytes FROM latest_size WHERE job IN (SELECT job FROM incoming)
)
GROUP BY job;
DELETE FROM latest_size WHERE job IN (SELECT job FROM moved);
INSERT INTO latest_size BY NAME SELECT * FROM moved;
DROP TABLE moved;
"""


def append(writer: Writer, sizes: Sequence[CheckpointSize]) -> None:
    """Add `sizes`; one of the same run and moment is not added again."""
    if not sizes:
        return
    rows = [(s.job, s.run, s.at_ms, s.checkpoint_bytes, s.state_bytes, s.log_bytes, s.source_bytes) for s in sizes]
    times = [size.at_ms for size in sizes]
    with incoming(writer, _COLUMNS, rows):
        writer.execute(_APPEND, [min(times), max(times)])
        writer.execute(_LATEST)


def forget_before(writer: Writer, run: RunId, at_ms: int) -> None:
    """Remove what was measured of the run before `at_ms`."""
    writer.execute("DELETE FROM sizes WHERE run = ? AND at_ms < ?", [run, at_ms])
