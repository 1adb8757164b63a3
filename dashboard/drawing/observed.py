"""What a job observes of its batches (`df.observe`) over time, and that of two jobs over each other. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from dashboard.drawing.comparisons import Measure, overlay
from dashboard.drawing.days import of_day, of_day_before
from dashboard.drawing.figures import PINK, Chart, LegendEntry, TimeMark, column, last
from dashboard.drawing.jobs import Columns, axis, broken_line, dotted, framed
from dashboard.drawing.units import Unit
from pipelines.domain.experiments import Series
from pipelines.domain.observed import ObservedSeries
from pipelines.words import observed as words

MOST_CHARTS = 12
NUMBER = Unit(1, {"tickformat": "~s"}, "%{y:,.6~g}", words.number)


def observed_charts(series: Series, marks: Sequence[TimeMark] = (), span: tuple[float, float] | None = None) -> dict[str, Chart]:
    """A chart by key for each number, the first `MOST_CHARTS` by name: numbers of one observation may be of any size."""
    own, past = of_day(series.observed), {(line.query, line.name): line for line in of_day_before(series.observed)}
    several = len({line.query for line in own}) > 1
    drawn = own[:MOST_CHARTS]
    return {_key(line): framed(_chart(line, past.get((line.query, line.name)), several), marks, span) for line in drawn}


def left_out(series: Series) -> list[str]:
    """The names of numbers that have no chart."""
    return [line.name for line in of_day(series.observed)[MOST_CHARTS:]]


def observed_overlays(names: Sequence[str], sides: Sequence[Series]) -> dict[str, Chart]:
    """A chart by key for each number of two jobs, laid over each other; first those that both have."""
    lines = [{(line.query, line.name): line for line in side.observed} for side in sides]
    known = list(dict.fromkeys(place for side in lines for place in side))
    several = len({query for query, _ in known}) > 1
    shared = sorted(known, key=lambda place: sum(place not in side for side in lines))
    return {
        _key(next(side[place] for side in lines if place in side)): overlay(
            Measure(words.titled(*place, several=several), "value", NUMBER), names, [_columns(side.get(place)) for side in lines]
        )
        for place in shared[:MOST_CHARTS]
    }


def _columns(line: ObservedSeries | None) -> Columns:
    return {"t": line.t, "value": line.value} if line else {}


def _chart(line: ObservedSeries, before: ObservedSeries | None, several: bool) -> Chart:
    title, values = words.titled(line.query, line.name, several=several), column(line.value)
    past = [(column(before.t), column(before.value))] if before else []
    traces = [dotted("observed", "$muted", t, then, NUMBER) for t, then in past]
    traces.append(broken_line("observed", PINK, column(line.t), values, NUMBER))
    legend = (LegendEntry("observed", words.number(last(values)), PINK),)
    layout = {"yaxis": axis(NUMBER, values, *(then for _, then in past))}
    return Chart(title, tuple(traces), layout, legend, summary=f"{title} over time; last: {words.number(last(values))}.")


def _key(line: ObservedSeries) -> str:
    """A key for a chart: names may hold anything."""
    return f"observed_{hashlib.sha256(f'{line.query}/{line.name}'.encode()).hexdigest()[:12]}"
