"""Numbers for charts to look at: they rise and fall with the clock, so that a refresh shows others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pipelines.domain.experiments import BatchRow, Series
from pipelines.domain.ids import JobName
from pipelines.domain.operators import OperatorSeries
from pipelines.domain.sources import BacklogSeries
from pipelines.verbs.jobs import ShowSeries

STEP_MS = 5_000
OPERATORS = ("stateStoreSave", "symmetricHashJoin", "dedupeWithinWatermark", "transformWithStateExec", "sessionWindowStateStoreSave")


def series(asked: ShowSeries) -> Series:
    """A batch every five seconds of the range, at most `points` of them."""
    first = -(-asked.from_ms // STEP_MS) * STEP_MS
    t = [float(at) for at in range(first, asked.to_ms, STEP_MS)][-asked.points :]
    swing = [math.sin(at / 41_000) + 0.4 * math.sin(at / 7_000) for at in t]
    took = [430 + 120 * height for height in swing]
    columns = {
        "t": t,
        "batch_ms": took,
        "input_rate": [2_400 + 700 * height for height in swing],
        "processed_rate": [5_200 + 900 * height for height in swing],
        "input_rows": [12_000 + 3_500 * height for height in swing],
        "add_batch_ms": [0.7 * ms for ms in took],
        "latest_offset_ms": [0.05 * ms for ms in took],
        "planning_ms": [0.08 * ms for ms in took],
        "wal_commit_ms": [0.06 * ms for ms in took],
        "commit_offsets_ms": [0.05 * ms for ms in took],
        "watermark_ms": [at - 14_000 - 2_000 * height for at, height in zip(t, swing, strict=True)],
        "event_lag_ms": [3_000 + 900 * height for height in swing],
        "late_rows": [float(max(0, round(4 * height))) for height in swing],
        "state_rows": [116_000 + 9_000 * height for height in swing],
        "state_bytes": [46e6 + 3e6 * height for height in swing],
        "get_batch_ms": [0.02 * ms for ms in took],
        "commit_batch_ms": [0.04 * ms for ms in took],
        "checkpoint_state_bytes": [1.7e8 + 8e4 * place for place in range(len(t))],
        "checkpoint_log_bytes": [3e7 + 1e4 * place for place in range(len(t))],
        "checkpoint_source_bytes": [1e7 + 1e4 * place for place in range(len(t))],
        "checkpoint_bytes": [2.1e8 + 1e5 * place for place in range(len(t))],
    }
    return Series(JobName(asked.job), columns, _operators(t, swing), (_waiting(t, swing),))


def batches(rows: Sequence[BatchRow]) -> tuple[BatchRow, ...]:
    """The same batches, each of another duration; now and then one has late rows, and once nothing ran for two minutes."""
    pause = rows[len(rows) // 3].at_ms if len(rows) > 30 else 0
    return tuple(_waved(row, 120_000 if row.at_ms < pause else 0) for row in rows)


def _waved(row: BatchRow, earlier_ms: int) -> BatchRow:
    took = 900 + 400 * math.sin(row.batch / 6) + (2_600 if row.batch % 37 == 0 else 0)
    shares = {"latestOffset": 0.05, "queryPlanning": 0.08, "walCommit": 0.07, "addBatch": 0.62, "commitBatch": 0.09, "commitOffsets": 0.04}
    phases = {name: share * took for name, share in shares.items()}
    return replace(row, at_ms=row.at_ms - earlier_ms, batch_ms=took, phases=phases, late_rows=7 if row.batch % 23 == 0 else 0)


def _operators(t: Sequence[float], swing: Sequence[float]) -> tuple[OperatorSeries, ...]:
    """More of them, and with longer names, than a legend of one line holds."""
    rows = [tuple(int(9_000 * (place + 1) + 800 * height) for height in swing) for place in range(len(OPERATORS))]
    return tuple(
        OperatorSeries("counts", place, name, tuple(t), kept, tuple(400 * count for count in kept))
        for place, (name, kept) in enumerate(zip(OPERATORS, rows, strict=True))
    )


def _waiting(t: Sequence[float], swing: Sequence[float]) -> BacklogSeries:
    return BacklogSeries("counts", 0, "KafkaV2[Subscribe[clicks]]", "rows", tuple(t), tuple(int(1_200 + 300 * height) for height in swing))
