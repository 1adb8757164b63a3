"""Charts of operators, backlog and the checkpoint's parts."""

from __future__ import annotations

import pytest

from dashboard.drawing.figures import TimeMark
from dashboard.drawing.operators import COLORS, backlog_charts, operator_charts
from pipelines.domain.experiments import Series
from pipelines.domain.ids import JobName
from pipelines.domain.operators import OperatorSeries
from pipelines.domain.sources import BacklogSeries
from tests.dashboard.drawing.test_jobs import T0, legend, y

T = (T0, T0 + 5_000)
PARTS = {"checkpoint_bytes": [7e6, 8e6], "checkpoint_state_bytes": [6e6, 6.5e6], "checkpoint_log_bytes": [9e5, 1.4e6]}


def operator(query: str, at: int, name: str, rows: int) -> OperatorSeries:
    return OperatorSeries(query, at, name, T, (1, rows), (100, 1_000 * rows))


def series(*operators: OperatorSeries, backlog: tuple[BacklogSeries, ...] = ()) -> Series:
    return Series(JobName("a"), {"t": T, **PARTS}, operators, backlog)


def test_each_operator_has_its_line_the_greatest_first() -> None:
    charts = operator_charts(series(operator("q", 0, "stateStoreSave", 20), operator("q", 1, "symmetricHashJoin", 300)))
    assert legend(charts["state_rows"]) == {"join": "300", "aggregation": "20"}
    assert legend(charts["state_bytes"]) == {"join": "300 kB", "aggregation": "20.0 kB"}
    assert y(charts["state_rows"], "aggregation") == [1, 20]
    assert "join 300" in charts["state_rows"].summary
    assert [entry.hint for entry in charts["state_rows"].legend] == ["symmetricHashJoin", "stateStoreSave"]


@pytest.mark.parametrize("operators", [(), (operator("q", 0, "stateStoreSave", 20),)], ids=["none", "one"])
def test_a_single_operator_keeps_the_single_line_of_the_job(operators: tuple[OperatorSeries, ...]) -> None:
    assert set(operator_charts(series(*operators))) == {"checkpoint"}


def test_operators_of_one_name_are_told_apart() -> None:
    charts = operator_charts(series(operator("p", 0, "dedupe", 3), operator("p", 1, "dedupe", 2), operator("q", 0, "dedupe", 1)))
    assert list(legend(charts["state_rows"])) == ["p deduplication 0", "p deduplication 1", "q deduplication"]


def test_past_the_colours_the_smallest_are_counted() -> None:
    many = [operator("q", at, f"o{at}", at) for at in range(len(COLORS) + 2)]
    chart = operator_charts(series(*many))["state_rows"]
    assert len(chart.traces) == len(COLORS)
    assert chart.legend[-1].name == "and 2 smaller"


def test_the_checkpoint_has_its_parts() -> None:
    mark = TimeMark(T0, "savepoint", "sp")
    chart = operator_charts(series(), [mark], (T0, T0 + 9))["checkpoint"]
    assert legend(chart) == {"total": "8.0 MB", "state": "6.5 MB", "logs": "1.4 MB"}
    assert chart.marks == (mark,) and chart.layout["span"] == [T0, T0 + 9]


def test_backlog_is_drawn_by_unit_and_only_where_it_is_known() -> None:
    waiting = (
        BacklogSeries("q", 0, "KafkaV2[Subscribe[clicks]]", "rows", T, (5, 1_250)),
        BacklogSeries("q", 1, "FileStreamSource[file:/data/a/in]", "bytes", T, (0, 2_000)),
    )
    assert not backlog_charts(series())
    charts = backlog_charts(series(backlog=waiting))
    assert {key: (chart.title, legend(chart)) for key, chart in charts.items()} == {
        "backlog_rows": ("Source backlog, rows", {"Kafka clicks": "1.2k"}),
        "backlog_bytes": ("Source backlog, bytes", {"files in a/in": "2.0 kB"}),
    }
