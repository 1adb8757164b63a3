"""The list of a job's batches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pipelines.catalog import observed
from pipelines.catalog.connection import Reader
from pipelines.catalog.tables import dicts, row
from pipelines.domain.errors import Invalid
from pipelines.domain.experiments import BatchRow
from pipelines.domain.moments import DAY_MS, HOUR_MS

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
SELECT query, batch, at_ms, batch_ms, input_rows, state_rows, watermark_ms, late_rows, sources, observed, {", ".join(PHASES)}
FROM progress WHERE job = $job AND at_ms BETWEEN $since AND $until AND at_ms + batch_ms <= $until AND $query IN ('', query)
AND (at_ms, batch, query) < ($at, $batch, $of)
ORDER BY at_ms DESC, batch DESC, query DESC LIMIT $limit
"""
_SORTED = f"""
SELECT query, batch, at_ms, batch_ms, input_rows, state_rows, watermark_ms, late_rows, sources, observed, {", ".join(PHASES)}
FROM progress WHERE job = $job AND at_ms + batch_ms <= $until
AND (NOT $goes_on OR ({{place}}) > ($nothing, $value, $at, $batch, $of))
ORDER BY {{place}} LIMIT $limit
"""
_PLACE = "{value} IS NULL, {sign}coalesce({value}, 0), at_ms, batch, query"
"""Of a batch in an order: by a value up or down, what has none last; then as they happened."""
EVER_MS = 2**62
_CURSOR = re.compile(r"(\d{1,15})-(\d{1,15})-(.*)", re.DOTALL)
_FIRST = """
WITH first AS (
    SELECT query, batch, max(batch_ms) AS ms FROM progress WHERE run = $run GROUP BY query, batch
    QUALIFY row_number() OVER (PARTITION BY query ORDER BY batch) <= $most
)
SELECT query, count(*) AS ended, min(batch) FILTER (ms > $longest) AS batch, arg_min(ms, batch) FILTER (ms > $longest) AS ms
FROM first GROUP BY query ORDER BY query
"""
_SPANS_MS = (HOUR_MS, DAY_MS)


@dataclass(frozen=True)
class FirstBatches:
    """How many batches of a query ended, and the first of them that took too long (with its ms), None where none did."""

    query: str
    ended: int
    batch: int | None
    ms: float | None


def newest(reader: Reader, job: str, *, limit: int = 100, query: str = "", until_ms: int | None = None, before: str = "") -> list[BatchRow]:
    """A job's newest batches (that had ended by `until_ms`), newest first; searches an hour, then a day, then all of them. Invalid
    (`batches.cursor`) for a `before` that is no cursor."""
    at, batch, of = _place(before)
    newest_ms = row(reader, "SELECT max(at_ms) FROM latest_progress WHERE job = ?", [job])
    last = min(newest_ms[0] if newest_ms and newest_ms[0] is not None else 0, at)
    until = EVER_MS if until_ms is None else until_ms
    asked = {"job": job, "until": until, "query": query, "limit": limit, "at": at, "batch": batch, "of": of}
    for since in (*(min(last, until) - span for span in _SPANS_MS), 0):
        rows = dicts(reader, _NEWEST, {**asked, "since": since})
        if len(rows) >= limit:
            break
    return [_batch(row) for row in rows]


def in_order(
    reader: Reader, job: str, column: str, *, is_down: bool, limit: int = 100, until_ms: int | None = None, before: str = ""
) -> list[BatchRow]:
    """A job's batches by a column of theirs, in one pass over them that holds no more than the answer. Invalid (`batches.cursor`) for a
    `before` that is no cursor of the job's."""
    place = _PLACE.format(value=column, sign="-" if is_down else "")
    asked = {"job": job, "until": EVER_MS if until_ms is None else until_ms, "limit": limit}
    return [_batch(row) for row in dicts(reader, _SORTED.format(place=place), {**asked, **_last(reader, job, before, place)})]


def _last(reader: Reader, job: str, before: str, place: str) -> dict[str, Any]:
    """The place of the batch that the last list ended with."""
    at, batch, of = _place(before)
    last = row(reader, f"SELECT {place} FROM progress WHERE job = ? AND at_ms = ? AND batch = ? AND query = ?", [job, at, batch, of])
    if before and last is None:
        raise _no_cursor(before)
    names = ("nothing", "value", "at", "batch", "of")
    return {"goes_on": last is not None, **dict(zip(names, last or (False, 0, 0, 0, ""), strict=True))}


def _place(cursor: str) -> tuple[int, int, str]:
    """What all that comes after it is less than; see `BatchRow.cursor`."""
    if not cursor:
        return EVER_MS, 0, ""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise _no_cursor(cursor)
    return int(match[1]), int(match[2]), match[3]


def _no_cursor(cursor: str) -> Invalid:
    hint = "Give the cursor that the previous list ended with, or none."
    return Invalid("batches.cursor", f"{cursor!r} is not the cursor of a batch", hint)


def first(reader: Reader, run: str, *, most: int | None, longest_ms: int | None) -> list[FirstBatches]:
    """The `most` first batches of each query of a run (all if None), and the first of them that took longer than `longest_ms`."""
    limits = {"most": EVER_MS if most is None else most, "longest": EVER_MS if longest_ms is None else longest_ms}
    return [FirstBatches(**fields) for fields in dicts(reader, _FIRST, {"run": run, **limits})]


def late_rows(reader: Reader, job: str, query: str, since_ms: int) -> int:
    """How many rows of a query were dropped because they came too late, in its batches since then."""
    late = row(reader, "SELECT sum(late_rows)::BIGINT FROM progress WHERE job = ? AND query = ? AND at_ms >= ?", [job, query, since_ms])
    return int(late[0] or 0) if late else 0


def _batch(row: dict[str, Any]) -> BatchRow:
    phases = {phase: row.pop(column) for column, phase in PHASES.items()}
    values = observed.observed_of(row.pop(observed.OBSERVED))
    return BatchRow(**row, observed=values, phases={phase: ms for phase, ms in phases.items() if ms is not None})
