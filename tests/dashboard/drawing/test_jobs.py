"""Series -> charts: what is drawn, in which unit, and where there is nothing."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from dashboard.drawing import comparisons, jobs
from dashboard.drawing.figures import Chart, TimeMark

T0 = 1_795_000_000_000.0
COUNT = 20


def series(**changed: list[float | None]) -> dict[str, list[float | None]]:
    t: list[float | None] = [T0 + 5_000 * i for i in range(COUNT)]
    flat: dict[str, list[float | None]] = {name: [value] * COUNT for name, value in FLAT.items()}
    return {"t": t, **flat, "watermark_ms": [T0 + 5_000 * i - 30_000 for i in range(COUNT)], **changed}


FLAT = {
    "batch_ms": 800.0, "input_rows": 500.0, "input_rate": 100.0, "processed_rate": 120.0, "add_batch_ms": 600.0, "get_batch_ms": 10.0,
    "latest_offset_ms": 20.0, "planning_ms": 40.0, "wal_commit_ms": 30.0, "commit_offsets_ms": 25.0, "commit_batch_ms": 5.0,
    "event_lag_ms": 1_500.0, "late_rows": 2.0, "state_rows": 1_000.0, "state_bytes": 5e6, "checkpoint_bytes": 7e6,
}  # fmt: skip


def decoded(values: dict[str, str]) -> list[float]:
    kind = {"f8": np.float64, "f4": np.float32}[values["dtype"]]
    return np.frombuffer(base64.b64decode(values["bdata"]), dtype=kind).tolist()


def y(chart: Chart, name: str) -> list[float]:
    return decoded(next(trace["y"] for trace in chart.traces if trace["name"] == name))


def legend(chart: Chart) -> dict[str, str]:
    return {entry.name: entry.value for entry in chart.legend}


def test_every_chart_of_a_job_has_lines_marks_and_the_same_range() -> None:
    marks = (TimeMark(T0, "version", "v-1"),)
    for chart in jobs.job_charts(series(), marks, (T0, T0 + 1_000)).values():
        assert chart.traces
        assert chart.summary
        assert chart.marks == marks
        assert chart.layout["span"] == [T0, T0 + 1_000]


@pytest.mark.parametrize("columns", [{"t": []}, {"t": [T0], "batch_ms": [None]}])
def test_without_numbers_every_chart_says_why_it_is_empty(columns: dict[str, list[float | None]]) -> None:
    for chart in jobs.job_charts(columns).values():
        assert not chart.traces
        assert chart.empty


def test_without_batches_nothing_is_said_of_the_job_itself() -> None:
    assert {chart.empty for chart in jobs.job_charts({"t": []}).values()} == {jobs.NO_DATA}


def test_every_rate_and_its_axis_say_of_what() -> None:
    chart = jobs.throughput(series())
    assert all(value.endswith(" rows/s") for value in legend(chart).values())
    assert chart.layout["yaxis"]["ticksuffix"] == "/s"


def test_times_keep_their_milliseconds() -> None:
    assert decoded(jobs.throughput(series()).traces[0]["x"])[:2] == [T0, T0 + 5_000]


def test_short_batches_are_drawn_in_milliseconds_and_long_ones_in_seconds() -> None:
    assert y(jobs.batch_latency(series()), "batch")[0] == pytest.approx(800)
    slow = jobs.batch_latency(series(batch_ms=[5_000.0] * COUNT))
    assert y(slow, "batch")[0] == pytest.approx(5)
    assert slow.layout["yaxis"]["ticksuffix"] == " s"
    assert legend(slow) == {"batch": "5.00 s", "p50": "5.00 s", "p99": "5.00 s"}


def test_the_two_commits_are_one_phase() -> None:
    chart = jobs.batch_phases(series())
    assert y(chart, "commit")[0] == pytest.approx(30)
    assert y(jobs.batch_phases(series(commit_batch_ms=[None] * COUNT)), "commit")[0] == pytest.approx(25)


def test_lag_is_measured_from_the_watermark() -> None:
    chart = jobs.event_time_lag(series())
    assert legend(chart) == {"watermark": "30.0 s", "newest event": "1.50 s"}


def test_a_job_without_event_time_has_no_lag() -> None:
    none: list[float | None] = [None] * COUNT
    assert jobs.event_time_lag(series(watermark_ms=none, event_lag_ms=none)).empty == "This job reads no event time"


def test_a_stop_shows_as_a_hole_in_the_line_and_in_its_area() -> None:
    t: list[float | None] = [T0 + 5_000 * i + (600_000 if i >= 10 else 0) for i in range(COUNT)]
    area, drawn = jobs.state_rows(series(t=t)).traces
    assert [np.isnan(v) for v in decoded(drawn["y"])].index(True) == 10
    assert decoded(area["y"])[10:12] == [0, 0]
    assert area["fill"] == "tozeroy"
    assert "fill" not in drawn


def test_late_rows_are_those_of_the_last_batch() -> None:
    late: list[float | None] = [*[0.0] * (COUNT - 1), 7.0]
    assert legend(jobs.late_rows(series(late_rows=late))) == {"last batch": "7"}
    assert "dtick" not in jobs.late_rows(series(late_rows=late)).layout["yaxis"]
    assert jobs.late_rows(series(late_rows=[0] * COUNT)).layout["yaxis"]["dtick"] == 1


def test_two_jobs_over_each_other() -> None:
    measure = comparisons.MEASURES["latency"]
    chart = comparisons.overlay(measure, ("a", "b"), (series(), series(batch_ms=[900.0] * COUNT)))
    assert legend(chart) == {"a": "800 ms", "b": "900 ms"}
    assert len({trace["color"] for trace in chart.traces}) == 2
    assert not comparisons.overlay(measure, ("a", "b"), ({"t": []}, {"t": []})).traces


def test_outputs_of_two_jobs_with_a_row_missing_on_one_side() -> None:
    chart = comparisons.outputs_over_time("views", [T0, T0 + 1], [1.0, 2.0], [1.0, None], ("a", "b"))
    assert legend(chart) == {"a": "Σ 3", "b": "Σ 1"}
    second: Any = y(chart, "b")
    assert np.isnan(second[1]) and chart.marks == ()
    marked = comparisons.outputs_over_time("views", [T0, T0 + 1], [1.0, 2.0], [1.0, 2.0], ("a", "b"), T0 + 1)
    assert [(mark.at_ms, mark.text) for mark in marked.marks] == [(T0 + 1, "first difference")]
