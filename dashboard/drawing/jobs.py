"""A job's series -> charts. Pure: columns in (see `domain.experiments.Series`), figures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.drawing.days import BESIDE
from dashboard.drawing.figures import (
    BLUE,
    CYAN,
    GREEN,
    ORANGE,
    RED,
    VIOLET,
    Chart,
    LegendEntry,
    Numbers,
    TimeMark,
    broken,
    column,
    emptied,
    holes_of,
    last,
    line,
)
from dashboard.drawing.marks import counted
from dashboard.drawing.phases import PHASES
from dashboard.drawing.units import BYTES, RATE, ROWS, Unit, milliseconds
from pipelines.words import formats

Columns = Mapping[str, Numbers]
Array = NDArray[np.float64]
PEAK_POINTS = 20
NO_DATA = "No batch in this time"


@dataclass(frozen=True)
class Curve:
    """One named column of a chart."""

    name: str
    column: str
    color: str
    fill: bool = False


def job_charts(series: Columns, marks: Sequence[TimeMark] = (), span: tuple[float, float] | None = None) -> dict[str, Chart]:
    """The charts of a job's page by key, in reading order, all with the same marks and the same `span` of time (epoch ms)."""
    charts = {
        "throughput": throughput(series),
        "latency": batch_latency(series),
        "phases": batch_phases(series),
        "lag": event_time_lag(series),
        "late": late_rows(series),
        "batch_rows": batch_rows(series),
        "state_rows": state_rows(series),
        "state_bytes": state_bytes(series),
        "checkpoint": checkpoint_size(series),
    }
    return {key: framed(chart, marks, span) for key, chart in charts.items()}


def throughput(series: Columns) -> Chart:
    """Rows a second: what comes in, and what could be processed."""
    curves = (Curve("input", "input_rate", BLUE, fill=True), Curve("processed", "processed_rate", GREEN))
    return _curves("Throughput", series, curves, RATE)


def batch_latency(series: Columns) -> Chart:
    """How long each batch took, with the median and the 99th percentile of the range as lines."""
    took = column(series.get("batch_ms", ()))
    unit = milliseconds(took, column(series.get(BESIDE + "batch_ms", ())))
    chart = _curves("Batch latency", series, (Curve("batch", "batch_ms", BLUE, fill=True),), unit)
    if not chart.traces:
        return chart
    p50, p99 = np.nanpercentile(took, [50, 99])
    levels = [{"y": float(p50) / unit.scale, "color": GREEN}, {"y": float(p99) / unit.scale, "color": ORANGE}]
    legend = (
        *chart.legend,
        LegendEntry("p50", formats.duration(float(p50)), GREEN, "dash"),
        LegendEntry("p99", formats.duration(float(p99)), ORANGE, "dash"),
    )
    return replace(chart, layout={**chart.layout, "levels": levels}, legend=legend)


def batch_phases(series: Columns) -> Chart:
    """Where a batch's time goes, stacked."""
    timed = [(phase, _sum(series, *phase.columns)) for phase in PHASES]
    present = [phase for phase, took in timed if np.isfinite(took).any()]
    if not present:
        return _empty("Batch phases", series)
    values = [np.nan_to_num(took) for _, took in timed if np.isfinite(took).any()]
    total, t = np.sum(values, axis=0), column(series["t"])
    before = _sum(series, *(BESIDE + name for phase in PHASES for name in phase.columns))
    unit, holes = milliseconds(total, before), holes_of(t)
    traces = tuple(
        line(*emptied(t, v / unit.scale, holes), phase.title, phase.color, stackgroup="phases", hovertemplate=unit.hover)
        for phase, v in zip(present, values, strict=True)
    )
    legend = tuple(LegendEntry(phase.title, color=phase.color) for phase in present)
    summary = f"Batch time by phase over time, stacked; the last batch took {formats.duration(last(total))}."
    past = day_before("all phases", series, before, unit)
    return Chart("Batch phases", (*traces, *past), {"yaxis": axis(unit, total, before)}, legend, summary=summary)


def event_time_lag(series: Columns) -> Chart:
    """How far the watermark and the newest event are behind the clock."""
    behind = {**series, "watermark_lag_ms": _difference(series, "t", "watermark_ms"), "newest_lag_ms": series.get("event_lag_ms", ())}
    if BESIDE + "t" in series:
        behind[BESIDE + "watermark_lag_ms"] = _difference(series, BESIDE + "t", BESIDE + "watermark_ms")
        behind[BESIDE + "newest_lag_ms"] = series.get(BESIDE + "event_lag_ms", ())
    curves = (Curve("watermark", "watermark_lag_ms", ORANGE, fill=True), Curve("newest event", "newest_lag_ms", BLUE))
    present = tuple(c for c in curves if np.isfinite(column(behind[c.column])).any())
    if not present:
        return _empty("Event-time lag", series, "This job reads no event time")
    return _curves("Event-time lag", behind, present, milliseconds(*(column(behind[c.column]) for c in present)))


def late_rows(series: Columns) -> Chart:
    """Rows dropped because the watermark had passed them, a bar for each batch."""
    return _bars("Late rows dropped", series, Curve("dropped", "late_rows", RED), "No stateful operator, so no row can be late")


def batch_rows(series: Columns) -> Chart:
    """Rows that each batch read."""
    return _bars("Rows per batch", series, Curve("rows", "input_rows", CYAN), NO_DATA)


def state_rows(series: Columns) -> Chart:
    """Rows that all stateful operators keep."""
    return _curves("State rows", series, (Curve("rows", "state_rows", VIOLET, fill=True),), ROWS, empty="This job keeps no state")


def state_bytes(series: Columns) -> Chart:
    """Memory that Spark says the state stores use, at its peak: see `peaks`."""
    peak = {**series, **{day + "state_bytes": peaks(column(series.get(day + "state_bytes", ()))) for day in ("", BESIDE)}}
    return _curves("State memory", peak, (Curve("peak", "state_bytes", VIOLET, fill=True),), BYTES, empty="This job keeps no state")


def peaks(values: Array) -> Array:
    """Each value as the greatest of the last `PEAK_POINTS`: what a state store says that it uses falls with each flush and rises again,
    which says nothing of the state."""
    if len(values) < 2:
        return values
    padded = np.concatenate([np.full(PEAK_POINTS - 1, -np.inf), np.nan_to_num(values, nan=-np.inf)])
    highest = np.lib.stride_tricks.sliding_window_view(padded, PEAK_POINTS).max(axis=1)
    return np.where(np.isfinite(values), highest, np.nan)


def checkpoint_size(series: Columns) -> Chart:
    """Bytes in the checkpoint directory."""
    curves = (Curve("total", "checkpoint_bytes", CYAN, fill=True),)
    chart = _curves("Checkpoint size", series, curves, BYTES, empty="Measured within a minute of the first batch")
    return replace(chart, traces=tuple({**trace, "line": {**trace.get("line", {}), "shape": "hv"}} for trace in chart.traces))


def _empty(title: str, series: Columns, why: str = NO_DATA) -> Chart:
    """`why` says what the batches of that time are without; without batches nothing is known of that."""
    return Chart(title, empty=why if len(series["t"]) else NO_DATA)


def framed(chart: Chart, marks: Sequence[TimeMark], span: tuple[float, float] | None) -> Chart:
    """`chart` as one of a page's: with its marks, over its span of time."""
    layout = {**chart.layout, "span": list(span)} if span else chart.layout
    return replace(chart, marks=counted(marks, span), layout=layout)


def _curves(title: str, series: Columns, curves: Sequence[Curve], unit: Unit, *, empty: str = NO_DATA) -> Chart:
    raw = [column(series.get(c.column, ())) for c in curves]
    if not any(np.isfinite(values).any() for values in raw):
        return _empty(title, series, empty)
    t = column(series["t"])
    past = [(c, column(series.get(BESIDE + c.column, ()))) for c in curves]
    drawn = [trace for c, values in past for trace in day_before(c.name, series, values, unit)]
    drawn += [trace for c, values in zip(curves, raw, strict=True) for trace in _line_and_area(c, t, values / unit.scale, unit)]
    traces = tuple(drawn)
    legend = tuple(LegendEntry(c.name, unit.text(last(values)), c.color) for c, values in zip(curves, raw, strict=True))
    layout = {"yaxis": axis(unit, *raw, *(values for _, values in past))}
    return Chart(title, traces, layout, legend, summary=_summary(title, legend))


def day_before(name: str, series: Columns, values: Array, unit: Unit) -> list[dict[str, Any]]:
    """The same values as they were the day before; nothing where there are none."""
    return [dotted(name, "$muted", column(series[BESIDE + "t"]), values, unit)] if np.isfinite(values).any() else []


def dotted(name: str, color: str, t: Array, values: Array, unit: Unit) -> dict[str, Any]:
    """A line of the day before."""
    drawn = broken_line(f"{name}, the day before", color, t, values / unit.scale, unit)
    return {**drawn, "line": {"width": 1.2, "dash": "dot"}}


def axis(unit: Unit, *columns: Array) -> dict[str, Any]:
    """The unit's axis with room above the greatest value for the names of marks; of few rows it marks no halves."""
    top = max(float(np.nanmax(c)) for c in columns if np.isfinite(c).any())
    whole = {"dtick": 1} if unit is ROWS and top < 4 else {}
    return {**unit.axis, **whole, "autorangeoptions": {"include": 1.15 * top / unit.scale}}


def _line_and_area(curve: Curve, t: Array, values: Array, unit: Unit) -> list[dict[str, Any]]:
    """One trace, or two where the line has holes: its area then needs other points than the line itself."""
    holes = holes_of(t)
    drawn = broken_line(curve.name, curve.color, t, values, unit)
    if not curve.fill:
        return [drawn]
    if not len(holes):
        return [{**drawn, "fill": "tozeroy"}]
    area = line(*emptied(t, values, holes), curve.name, curve.color, fill="tozeroy", line={"width": 0}, hoverinfo="skip")
    return [area, drawn]


def broken_line(name: str, color: str, t: Array, values: Array, unit: Unit) -> dict[str, Any]:
    """A line that stops where nothing came for long; `values` in the axis's scale."""
    return line(*broken(t, values, holes_of(t)), name, color, hovertemplate=unit.hover)


def _bars(title: str, series: Columns, curve: Curve, empty: str) -> Chart:
    values = column(series.get(curve.column, ()))
    if not np.isfinite(values).any():
        return _empty(title, series, empty)
    trace = {**line(column(series["t"]), values, curve.name, curve.color, hovertemplate=ROWS.hover), "type": "bar", "opacity": 0.8}
    legend = (LegendEntry("last batch", formats.compact(last(values)), curve.color),)
    before = column(series.get(BESIDE + curve.column, ()))
    past = day_before(curve.name, series, before, ROWS)
    layout = {"yaxis": axis(ROWS, values, before), "bargap": 0.25}
    return Chart(title, (trace, *past), layout, legend, summary=_summary(title, legend, "rows"))


def _summary(title: str, legend: Sequence[LegendEntry], suffix: str = "") -> str:
    last_values = ", ".join(f"{entry.name} {entry.value} {suffix}".rstrip() for entry in legend)
    return f"{title} over time; last: {last_values}."


def _sum(series: Columns, *keys: str) -> Array:
    present = [column(series[key]) for key in keys if key in series]
    if not present:
        return np.asarray([], dtype=np.float64)
    nothing = np.all([np.isnan(c) for c in present], axis=0)
    return np.where(nothing, np.nan, np.nansum(present, axis=0))


def _difference(series: Columns, later: str, earlier: str) -> Array:
    if earlier not in series:
        return np.asarray([], dtype=np.float64)
    return np.maximum(column(series[later]) - column(series[earlier]), 0.0)
