"""Charts of what jobs observe themselves."""

from __future__ import annotations

from dashboard.drawing.days import beside
from dashboard.drawing.figures import TimeMark
from dashboard.drawing.observed import MOST_CHARTS, left_out, observed_charts, observed_overlays
from pipelines.domain.experiments import Series
from pipelines.domain.ids import JobName
from pipelines.domain.observed import ObservedSeries
from tests.dashboard.drawing.test_jobs import T0, legend, y

T = (T0, T0 + 5_000)


def line(name: str, *values: float, query: str = "q") -> ObservedSeries:
    return ObservedSeries(query, name, T, values)


def series(*observed: ObservedSeries) -> Series:
    return Series(JobName("a"), {"t": T}, observed=observed)


def test_each_number_has_a_chart_of_its_own() -> None:
    mark = TimeMark(T0, "savepoint", "sp")
    rows, mean = observed_charts(series(line("checks.rows", 9_000, 12_345), line("checks.mean", -0.5, 0.25)), [mark], (T0, T0 + 9)).values()
    assert (rows.title, legend(rows), mean.title, legend(mean)) == (
        "checks.rows", {"observed": "12,345"}, "checks.mean", {"observed": "0.25"},
    )  # fmt: skip
    assert y(rows, "observed") == [9_000, 12_345]
    assert rows.marks == (mark,) and rows.layout["span"] == [T0, T0 + 9]


def test_of_several_queries_the_title_says_which() -> None:
    charts = observed_charts(series(line("c.n", 1, 2), line("c.n", 3, 4, query="p")))
    assert [chart.title for chart in charts.values()] == ["q: c.n", "p: c.n"]


def test_what_has_no_chart_is_named() -> None:
    many = series(*(line(f"c.n{at}", 1, 2) for at in range(MOST_CHARTS + 2)))
    assert len(observed_charts(many)) == MOST_CHARTS
    assert left_out(many) == [f"c.n{MOST_CHARTS}", f"c.n{MOST_CHARTS + 1}"]
    assert left_out(series(line("c.n", 1, 2))) == []


def test_the_day_before_stands_beside() -> None:
    shown = beside(series(line("c.n", 1, 2)), series(line("c.n", 5, 6), line("c.gone", 5, 6)), 1_000)
    (chart,) = observed_charts(shown).values()
    assert len(chart.traces) == 2 and y(chart, "observed, the day before") == [5, 6]


def test_two_jobs_lie_over_each_other_and_what_both_have_comes_first() -> None:
    a, b = series(line("a.only", 1, 2), line("c.n", 3, 4)), series(line("c.n", 5, 6), line("b.only", 7, 8))
    charts = observed_overlays(("A", "B"), [a, b])
    assert [(chart.title, legend(chart)) for chart in charts.values()] == [
        ("c.n", {"A": "4", "B": "6"}), ("a.only", {"A": "2", "B": "–"}), ("b.only", {"A": "–", "B": "8"}),
    ]  # fmt: skip
    assert [y(next(iter(charts.values())), side) for side in "AB"] == [[3, 4], [5, 6]]
    assert observed_overlays(("A", "B"), [series(), series()]) == {}
