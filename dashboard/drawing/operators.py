"""What a job's operators keep, what its sources have waiting, and what its checkpoint is made of, over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dashboard import formats
from dashboard.drawing.figures import BLUE, CYAN, GRAY, GREEN, ORANGE, PINK, VIOLET, Chart, LegendEntry, TimeMark, column, last
from dashboard.drawing.jobs import BYTES, ROWS, Array, Columns, Unit, axis, broken_line, checkpoint_size, framed
from pipelines.domain.experiments import Series
from pipelines.domain.operators import BacklogSeries, OperatorSeries

COLORS = (VIOLET, BLUE, ORANGE, GREEN, PINK, CYAN, GRAY)
PARTS = (
    ("state", "checkpoint_state_bytes", VIOLET),
    ("logs", "checkpoint_log_bytes", ORANGE),
    ("sources", "checkpoint_source_bytes", GREEN),
)
COUNT = Unit(1, {"tickformat": "~s"}, "%{y:,.0f}", formats.compact)
Drawn = tuple[str, str, Array, Array]
"""Name, name in the legend, times, values."""


def operator_charts(series: Series, marks: Sequence[TimeMark] = (), span: tuple[float, float] | None = None) -> dict[str, Chart]:
    """Charts by key: those of state stand in place of a job's single lines where it has several operators."""
    found = {"checkpoint": checkpoint_parts(series.columns)}
    if len(series.operators) > 1:
        found["state_rows"] = _lines("State rows", [_named(one, one.rows, series.operators) for one in series.operators], ROWS)
        found["state_bytes"] = _lines("State memory", [_named(one, one.memory_bytes, series.operators) for one in series.operators], BYTES)
    for unit in dict.fromkeys(one.unit for one in series.backlog):
        found[f"backlog_{unit}"] = backlog([one for one in series.backlog if one.unit == unit], unit)
    return {key: framed(chart, marks, span) for key, chart in found.items()}


def checkpoint_parts(series: Columns) -> Chart:
    """Bytes in the checkpoint directory, and of them those of state, of the offset and commit logs, and of the sources' logs."""
    whole = checkpoint_size(series)
    parts = [(name, column(series.get(key, ())), color) for name, key, color in PARTS]
    known = [(name, values, color) for name, values, color in parts if np.isfinite(values).any()]
    if not whole.traces or not known:
        return whole
    traces = [broken_line(name, color, column(series["t"]), values, BYTES) for name, values, color in known]
    stepped = tuple({**trace, "line": {**trace.get("line", {}), "shape": "hv"}} for trace in traces)
    legend = tuple(LegendEntry(name, formats.size(last(values)), color) for name, values, color in known)
    return replace(whole, traces=(*whole.traces, *stepped), legend=(*whole.legend, *legend))


def backlog(waiting: Sequence[BacklogSeries], unit: str) -> Chart:
    """What sources had not read yet at the end of each batch; what they all count in is in the title."""
    several = len({one.query for one in waiting}) > 1
    drawn: list[Drawn] = []
    for one in waiting:
        name = formats.source_name(one.name)
        short = f"{one.query} {name}" if several else name
        drawn.append((one.name, short, column(one.t), column(one.amount)))
    return _lines(f"Source backlog, {unit}", drawn, BYTES if unit == "bytes" else COUNT)


def _named(one: OperatorSeries, values: Sequence[int], known: Sequence[OperatorSeries]) -> Drawn:
    """An operator goes by its own name; by its place too where a query has that name twice, and by its query where there are several."""
    twice = sum(other.query == one.query and other.name == one.name for other in known) > 1
    short = f"{one.name} {one.operator}" if twice else one.name
    several = len({other.query for other in known}) > 1
    return one.name, f"{one.query} {short}" if several else short, column(one.t), column(values)


def _lines(title: str, drawn: Sequence[Drawn], unit: Unit) -> Chart:
    """A line each, those that end highest first; past the colours there are the rest are left out, and the legend says how many."""
    ranked = sorted(drawn, key=lambda one: -(last(one[3]) or 0))[: len(COLORS)]
    colored = list(zip(COLORS, ranked, strict=False))
    traces = tuple(broken_line(short, color, t, values / unit.scale, unit) for color, (_, short, t, values) in colored)
    legend = [LegendEntry(short, unit.text(last(values)), color) for color, (_, short, _, values) in colored]
    if len(drawn) > len(ranked):
        legend.append(LegendEntry(f"and {len(drawn) - len(ranked)} smaller", color="$muted"))
    summary = f"{title} over time; last: {', '.join(f'{entry.name} {entry.value}' for entry in legend)}."
    layout = {"yaxis": axis(unit, *(one[3] for one in ranked))}
    return Chart(title, traces, layout, tuple(legend), summary=summary)
