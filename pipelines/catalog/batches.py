"""The list of a job's batches."""

from __future__ import annotations

from typing import Any

from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import dicts, row
from pipelines.domain.experiments import BatchRow

PHASES = {
    "latest_offset_ms": "latestOffset",
    "get_batch_ms": "getBatch",
    "planning_ms": "queryPlanning",
    "wal_commit_ms": "walCommit",
    "add_batch_ms": "addBatch",
    "commit_batch_ms": "commitBatch",
    "commit_offsets_ms": "commitOffsets",
}
"""Column -> Spark's name of the phase, in the order in which a batch goes through them."""

_NEWEST = f"""
SELECT query, batch, at_ms, batch_ms, input_rows, state_rows, watermark_ms, late_rows, sources, {", ".join(PHASES)}
FROM progress WHERE job = $job AND at_ms >= $since AND $query IN ('', query) ORDER BY at_ms DESC, batch DESC LIMIT $limit
"""
_SPANS_MS = (3_600_000, 86_400_000)


def newest(reader: Reader, job: str, *, limit: int = 100, query: str = "") -> list[BatchRow]:
    """A job's newest batches, newest first; searches its last hour, then its last day, then all of them."""
    newest_ms = row(reader, "SELECT max(at_ms) FROM latest_progress WHERE job = ?", [job])
    last = newest_ms[0] if newest_ms and newest_ms[0] is not None else 0
    for since in (*(last - span for span in _SPANS_MS), 0):
        rows = dicts(reader, _NEWEST, {"job": job, "since": since, "query": query, "limit": limit})
        if len(rows) >= limit:
            break
    return [_batch(row) for row in rows]


def _batch(row: dict[str, Any]) -> BatchRow:
    phases = {phase: row.pop(column) for column, phase in PHASES.items()}
    return BatchRow(**row, phases={phase: ms for phase, ms in phases.items() if ms is not None})
