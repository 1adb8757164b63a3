"""Batches as a timeline: bars that do not overlap, gaps, failures, what Spark still keeps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from dashboard.drawing import batches
from dashboard.drawing.figures import Chart, TimeMark
from pipelines.domain.experiments import BatchRow
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import Exit, RunState

T0 = 1_795_000_000_000
STEP = 10_000


def row(batch: int, *, at: int | None = None, took: float = 800.0, late: int = 0) -> BatchRow:
    begin = T0 + batch * STEP if at is None else at
    phases = {"addBatch": 0.7 * took, "commitBatch": 0.05 * took, "commitOffsets": 0.05 * took}
    return BatchRow("counts", batch, begin, took, 40, 116, None, late, phases, "")


def rows(count: int) -> list[BatchRow]:
    return [row(batch) for batch in range(count)][::-1]


def trace(chart: Chart, name: str) -> dict[str, Any]:
    return next(dict(trace) for trace in chart.traces if trace["name"] == name)


def test_phases_are_stacked_to_the_batchs_duration_and_a_click_gives_the_batch() -> None:
    chart = batches.timeline(rows(3), frozenset({1, 2}))
    heights = [sum(values) for values in zip(*(t["y"] for t in chart.traces), strict=True)]
    assert heights == pytest.approx([800, 800, 800])
    assert [t["name"] for t in chart.traces] == ["process", "commit", "everything else"]
    assert trace(chart, "process")["customdata"] == ["counts:0", "counts:1", "counts:2"]


def test_what_spark_has_purged_is_pale_unless_it_is_chosen() -> None:
    opacity = lambda chosen: trace(batches.timeline(rows(3), frozenset({2}), selected=chosen), "process")["marker"]["opacity"]  # noqa: E731
    assert opacity("") == [batches.PURGED, batches.PURGED, batches.KEPT]
    assert opacity("counts:0") == [batches.KEPT, batches.PURGED, batches.KEPT]


def test_bars_do_not_overlap_where_batches_follow_each_other_at_once() -> None:
    drawn = batches.bars([row(0, took=20_000.0), row(1, took=9_000.0), row(2)], frozenset())
    assert all(bar.begin_ms + bar.width_ms <= later.begin_ms for bar, later in pairwise(drawn))


def test_a_long_time_without_a_batch_is_hatched() -> None:
    late = row(3, at=T0 + 2 * STEP + 600_000)
    chart = batches.timeline([late, *rows(3)], frozenset())
    assert trace(chart, "no batch")["text"] == ["no batch for 9m 54s"]
    assert trace(chart, "no batch")["marker"]["pattern"]["shape"] == "/"


def test_late_rows_and_failed_runs_stand_out() -> None:
    run = Run(RunId("r-1"), JobName("a"), VersionId("v-1"), RunState.FAILED, T0, T0, T0 + 25_000, exit=Exit("failed", 1, "OOM", "", 0))
    chart = batches.timeline([row(2, late=5), *rows(2)], frozenset(), [run])
    assert trace(chart, "late rows")["text"] == ["5 late rows dropped"]
    assert trace(chart, "failed")["text"] == ["<b>the run failed</b><br>OOM"]
    assert "1 failure" in chart.summary


def test_of_many_batches_a_bar_is_the_slowest_of_several() -> None:
    many = [row(batch, took=5_000.0 if batch == 601 else 800.0) for batch in range(1_200)][::-1]
    chart = batches.timeline(many, frozenset())
    bars = trace(chart, "process")
    assert len(bars["customdata"]) == batches.MOST_BARS
    assert "counts:601" in bars["customdata"]
    assert "slowest of 3" in str(bars["text"][200])


def test_savepoints_of_one_batch_are_one_mark_that_says_how_many() -> None:
    marks = [TimeMark(T0 + STEP, "savepoint", f"sp-{n}", f"sp-{n}") for n in range(3)] + [TimeMark(T0 + 2 * STEP, "savepoint", "x", "x")]
    counts = [(mark.count, mark.id) for mark in batches.timeline(rows(3), frozenset(), marks=marks).marks]
    assert counts == [(3, "sp-2"), (1, "x")]


def test_one_batch_and_none() -> None:
    assert batches.timeline(rows(1), frozenset()).traces
    assert batches.timeline([], frozenset()).empty == "No batch yet"
