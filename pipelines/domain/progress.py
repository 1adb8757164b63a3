"""Spark's progress event, read into one row of numbers.

The field names are Spark's `StreamingQueryProgress.json`. Its times are ISO 8601 in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.domain.bounds import Long, Moment, Rate
from pipelines.domain.observed import Observed, read_observed
from pipelines.domain.operators import OperatorProgress, read_operators
from pipelines.domain.sources import Backlog, read_backlog


@dataclass(frozen=True)
class Progress:
    """One batch of one query. Times are epoch ms or durations in ms, rates rows a second; None where Spark said nothing."""

    query: str
    query_id: str
    spark_run_id: str
    batch: Long
    at_ms: Moment
    """When the batch was triggered; of a follower in lock-step, when its leader's was there."""
    batch_ms: Rate
    input_rows: Long | None
    input_rate: Rate | None
    processed_rate: Rate | None
    add_batch_ms: Rate | None
    get_batch_ms: Rate | None
    latest_offset_ms: Rate | None
    planning_ms: Rate | None
    wal_commit_ms: Rate | None
    commit_offsets_ms: Rate | None
    commit_batch_ms: Rate | None
    watermark_ms: Long | None
    event_min_ms: Long | None
    event_avg_ms: Long | None
    event_max_ms: Long | None
    late_rows: Long
    state_rows: Long | None
    state_bytes: Long | None
    """`memoryUsedBytes` over all stateful operators."""
    output_rows: Long | None
    operators: tuple[OperatorProgress, ...] = ()
    """Stateful operators in Spark's order; of a batch that Spark did not tell them of there are none."""
    backlog: tuple[Backlog, ...] = ()
    observed: tuple[Observed, ...] = ()
    """What the job says of the batch by `df.observe`."""


def read_progress(raw: Mapping[str, Any]) -> Progress:
    """One progress event as a row; KeyError and ValueError where it is not one."""
    return Progress(**progress_fields(raw))


def progress_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of that row, for who checks them while it makes the row of them; raises like `read_progress`."""
    durations = raw.get("durationMs") or {}
    events = raw.get("eventTime") or {}
    operators = read_operators(raw)
    written = (raw.get("sink") or {}).get("numOutputRows", -1)
    whole_ms = float(raw.get("batchDuration", durations.get("triggerExecution", 0)))
    waited_ms = _waited_ms(whole_ms, durations)
    return {
        "query": raw.get("name") or "",
        "query_id": raw["id"],
        "spark_run_id": raw["runId"],
        "batch": int(raw["batchId"]),
        "at_ms": epoch_ms(raw["timestamp"]) + round(waited_ms),
        "batch_ms": whole_ms - waited_ms,
        "input_rows": raw.get("numInputRows"),
        "input_rate": _finite(raw.get("inputRowsPerSecond")),
        "processed_rate": _processed_rate(raw, whole_ms, waited_ms),
        "add_batch_ms": durations.get("addBatch"),
        "get_batch_ms": durations.get("getBatch"),
        "latest_offset_ms": durations.get("latestOffset"),
        "planning_ms": durations.get("queryPlanning"),
        "wal_commit_ms": durations.get("walCommit"),
        "commit_offsets_ms": durations.get("commitOffsets"),
        "commit_batch_ms": durations.get("commitBatch"),
        "watermark_ms": _event(events, "watermark"),
        "event_min_ms": _event(events, "min"),
        "event_avg_ms": _event(events, "avg"),
        "event_max_ms": _event(events, "max"),
        "late_rows": sum(operator.late_rows for operator in operators),
        "state_rows": sum(operator.rows for operator in operators) if operators else None,
        "state_bytes": sum(operator.memory_bytes for operator in operators) if operators else None,
        "output_rows": int(written) if int(written) >= 0 else None,
        "operators": operators,
        "backlog": read_backlog(raw),
        "observed": read_observed(raw),
    }


def epoch_ms(iso: str) -> int:
    """ISO 8601 (`2026-11-20T09:00:00.123Z`) as epoch ms."""
    return round(datetime.fromisoformat(iso).timestamp() * 1000)


def _waited_ms(whole_ms: float, durations: Mapping[str, float]) -> float:
    """How long a trigger waited for a batch that somebody else planned, as a leader does in lock-step: Spark counts that as the batch's own
    time. Such a batch is told by its having asked no source; one that is planned before a restart is like it, and has not waited."""
    if "addBatch" not in durations or {"latestOffset", "walCommit"} & durations.keys():
        return 0.0
    phases = [ms for phase, ms in durations.items() if phase != "triggerExecution" and isinstance(ms, int | float)]
    return max(0.0, whole_ms - sum(phases))


def _processed_rate(raw: Mapping[str, Any], whole_ms: float, waited_ms: float) -> float | None:
    rate = _finite(raw.get("processedRowsPerSecond"))
    return rate * whole_ms / (whole_ms - waited_ms) if rate and 0 < waited_ms < whole_ms else rate


def _event(events: Mapping[str, str], name: str) -> int | None:
    text = events.get(name)
    if text is None:
        return None
    try:
        at = epoch_ms(text)
    except ValueError:  # a year after 9999, which is a mistake in the job's data
        return None
    return at if at > 0 else None


def _finite(rate: float | None) -> float | None:
    return rate if rate is not None and rate == rate and abs(rate) != float("inf") else None
