"""A against B over event time: their metrics laid over each other, and their outputs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.drawing.figures import BLUE, ORANGE, Chart, LegendEntry, TimeMark, column, encoded, last, line
from dashboard.drawing.jobs import Columns
from dashboard.drawing.states import span
from dashboard.drawing.units import BYTES, RATE, ROWS, Unit, milliseconds
from pipelines.words import formats

COLORS = (BLUE, ORANGE)


@dataclass(frozen=True)
class Measure:
    """A column that two jobs are compared by; without a unit it is a duration in ms."""

    title: str
    column: str
    unit: Unit | None = None


MEASURES = {
    "latency": Measure("Batch latency", "batch_ms"),
    "throughput": Measure("Processed", "processed_rate", RATE),
    "batch_rows": Measure("Rows per batch", "input_rows", ROWS),
    "lag": Measure("Event-time lag", "event_lag_ms"),
    "late": Measure("Late rows dropped", "late_rows", ROWS),
    "state_rows": Measure("State rows", "state_rows", ROWS),
    "state_bytes": Measure("State memory", "state_bytes", BYTES),
}


def overlay(measure: Measure, names: Sequence[str], columns: Sequence[Columns]) -> Chart:
    """One line for each job over event time, in two colours that everybody can tell apart."""
    values = [column(c.get(measure.column, ())) for c in columns]
    if not any(np.isfinite(v).any() for v in values):
        return Chart(measure.title, empty="Neither job has this number yet")
    unit = measure.unit or milliseconds(*values)
    traces = tuple(
        line(column(c["t"]), v / unit.scale, name, color, hovertemplate=unit.hover)
        for name, color, c, v in zip(names, COLORS, columns, values, strict=False)
        if len(v)
    )
    legend = tuple(LegendEntry(name, unit.text(last(v)), color) for name, color, v in zip(names, COLORS, values, strict=False))
    last_values = ", ".join(f"{entry.name} {entry.value}" for entry in legend)
    return Chart(
        measure.title, traces, {"yaxis": dict(unit.axis)}, legend, summary=f"{measure.title} over event time; last: {last_values}."
    )


def state_by_operator(title: str, sides: Mapping[str, tuple[float | None, float | None]], unit: Unit) -> Chart:
    """Two bars for each stateful operator, of A and of B: how much each remembers, and which of the two more."""
    columns = [column([pair[place] for pair in sides.values()]) for place in (0, 1)]
    if not any(np.isfinite(values).any() for values in columns):
        return Chart(title, empty="Not known yet")
    at = list(range(len(sides)))
    traces = tuple(
        {
            "type": "bar", "name": name, "x": encoded(column(at)), "y": encoded(values), "color": color, "opacity": 0.85,
            "hovertemplate": f"{unit.hover} {name}",
        }
        for name, color, values in zip(("A", "B"), COLORS, columns, strict=True)
    )  # fmt: skip
    axis = {"type": "linear", "tickmode": "array", "tickvals": at, "ticktext": list(sides), "tickformatstops": []}
    layout = {
        "xaxis": axis,
        "yaxis": {**unit.axis, "nticks": 4, "rangemode": "tozero"},
        "barmode": "group",
        "bargap": 0.8 if len(sides) == 1 else 0.5,
    }
    totals = [unit.text(float(np.nansum(values)) if np.isfinite(values).any() else None) for values in columns]
    legend = tuple(LegendEntry(name, total, color) for name, total, color in zip(("A", "B"), totals, COLORS, strict=True))
    words = ", ".join(f"{name}: {unit.text(a)} in A, {unit.text(b)} in B" for name, (a, b) in sides.items())
    return Chart(title, traces, layout, legend, summary=f"{title}: {words}.", height=150)


def outputs_over_time(
    title: str,
    t: Sequence[float],
    a: Sequence[float | None],
    b: Sequence[float | None],
    names: tuple[str, str],
    parts_ms: float | None = None,
) -> Chart:
    """A measure of both outputs per point of event time: A as an area, B as a dashed line over it, so that a difference shows as a gap. The
    first row that differs is marked, as sums may be the same where rows are not."""
    if not len(t):
        return Chart(title, empty="No output rows to compare yet")
    times, first, second = column(t), column(a), column(b)
    traces = (
        line(times, first, names[0], BLUE, fill="tozeroy", line={"shape": "hvh"}, hovertemplate=ROWS.hover),
        line(times, second, names[1], ORANGE, line={"shape": "hvh", "dash": "dash", "width": 2}, hovertemplate=ROWS.hover),
    )
    totals = (float(np.nansum(first)), float(np.nansum(second)))
    legend = tuple(LegendEntry(n, f"Σ {formats.compact(total)}", c) for n, total, c in zip(names, totals, COLORS, strict=True))
    summary = f"{title} over event time; sum of {names[0]}: {totals[0]:,.0f}, of {names[1]}: {totals[1]:,.0f}."
    marks = () if parts_ms is None else (TimeMark(parts_ms, "moment", "first difference"),)
    return Chart(title, traces, {"yaxis": dict(ROWS.axis), "span": span(t)}, legend, marks, summary=summary)
