"""The day before lies beneath every chart of a job."""

from __future__ import annotations

from typing import Any

from dashboard.drawing.days import beside
from dashboard.drawing.jobs import job_charts
from dashboard.drawing.operators import backlog_charts, operator_charts
from pipelines.domain.experiments import Series
from pipelines.domain.ids import JobName
from pipelines.domain.operators import OperatorSeries
from pipelines.domain.sources import BacklogSeries
from tests.dashboard.drawing.test_jobs import T0, decoded, series

DAY_MS = 86_400_000.0
BEFORE = ", the day before"


def a_day(shift_ms: float, rows: int) -> Series:
    t = (T0 - shift_ms, T0 + 5_000 - shift_ms)
    columns = {name: values[:2] for name, values in series().items()} | {"t": t, "watermark_ms": t}
    operators = tuple(OperatorSeries("q", at, f"o{at}", t, (1, rows + at), (100, 1_000 * rows)) for at in range(2))
    return Series(JobName("a"), columns, operators, (BacklogSeries("q", 0, "clicks", "rows", t, (5, rows)),))


def dotted(both: Series) -> dict[str, list[Any]]:
    charts = job_charts(both.columns) | operator_charts(both) | backlog_charts(both)
    return {key: [trace for trace in chart.traces if trace["name"].endswith(BEFORE)] for key, chart in charts.items()}


def test_every_chart_has_the_day_before_at_the_same_time() -> None:
    drawn = dotted(beside(a_day(0, 20), a_day(DAY_MS, 30), DAY_MS))
    assert [key for key, traces in drawn.items() if not traces] == []
    assert all(decoded(trace["x"]) == [T0, T0 + 5_000] for traces in drawn.values() for trace in traces)
    assert [trace["name"] for trace in drawn["state_rows"]] == [f"o0{BEFORE}", f"o1{BEFORE}"]
    assert decoded(drawn["state_rows"][0]["y"]) == [1, 30]
    assert decoded(drawn["backlog_rows"][0]["y"]) == [5, 30]


def test_without_a_day_before_there_is_no_line_of_it() -> None:
    nothing = Series(JobName("a"), {"t": []})
    drawn = dotted(beside(a_day(0, 20), nothing, DAY_MS))
    assert [key for key, traces in drawn.items() if traces] == []
