"""What a job's operators keep, what its sources have waiting, and what its checkpoint is made of, over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dashboard.drawing.days import of_day, of_day_before
from dashboard.drawing.figures import BLUE, CYAN, GRAY, GREEN, ORANGE, PINK, VIOLET, Chart, LegendEntry, TimeMark, column, last
from dashboard.drawing.jobs import Array, Columns, axis, broken_line, checkpoint_size, dotted, framed, peaks
from dashboard.drawing.units import BYTES, ROWS, Unit
from pipelines.domain.experiments import Series
from pipelines.domain.operators import OperatorSeries
from pipelines.domain.sources import BacklogSeries
from pipelines.words import formats, operators
from pipelines.words.backlog import UNITS

COLORS = (VIOLET, BLUE, ORANGE, GREEN, PINK, CYAN, GRAY)
PARTS = (
    ("state", "checkpoint_state_bytes", VIOLET),
    ("logs", "checkpoint_log_bytes", ORANGE),
    ("sources", "checkpoint_source_bytes", GREEN),
)
Drawn = tuple[str, str, Array, Array]
"""What the legend says on hover, name in the legend, times, values."""


def operator_charts(series: Series, marks: Sequence[TimeMark] = (), span: tuple[float, float] | None = None) -> dict[str, Chart]:
    """Charts by key: those of state stand in place of a job's single lines where it has several operators."""
    charts = {"checkpoint": checkpoint_parts(series.columns)}
    own, past = of_day(series.operators), of_day_before(series.operators)
    if len(own) > 1:
        charts["state_rows"] = _lines("State rows", _rows(own), _rows(past), ROWS)
        charts["state_bytes"] = _lines("State memory", _memory(own), _memory(past), BYTES)
    return {key: framed(chart, marks, span) for key, chart in charts.items()}


def backlog_charts(series: Series, marks: Sequence[TimeMark] = (), span: tuple[float, float] | None = None) -> dict[str, Chart]:
    """A chart by key for each unit in which sources say what they have not read yet: rows before bytes before files."""
    known = dict.fromkeys(source.unit for source in of_day(series.backlog))
    units = [unit for unit in UNITS if unit in known] + [unit for unit in known if unit not in UNITS]
    charts = {f"backlog_{unit}": backlog([source for source in series.backlog if source.unit == unit], unit) for unit in units}
    return {key: framed(chart, marks, span) for key, chart in charts.items()}


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
    own, past = (_sources(several) for several in (of_day(waiting), of_day_before(waiting)))
    return _lines(f"Source backlog, {unit}", own, past, BYTES if unit == "bytes" else ROWS)


def _sources(waiting: Sequence[BacklogSeries]) -> list[Drawn]:
    several = len({source.query for source in waiting}) > 1
    drawn: list[Drawn] = []
    for source in waiting:
        name = formats.source_name(source.name)
        short = f"{source.query} {name}" if several else name
        drawn.append((source.name, short, column(source.t), column(source.amount)))
    return drawn


def _rows(known: Sequence[OperatorSeries]) -> list[Drawn]:
    return [_named(operator, operator.rows, known) for operator in known]


def _memory(known: Sequence[OperatorSeries]) -> list[Drawn]:
    return [_peaks(_named(operator, operator.memory_bytes, known)) for operator in known]


def _named(operator: OperatorSeries, values: Sequence[int], known: Sequence[OperatorSeries]) -> Drawn:
    """What an operator is; with its number where a query has that twice, with its query where there are several. On hover Spark's name."""
    kind = operators.kind(operator.name)
    twice = sum(other.query == operator.query and operators.kind(other.name) == kind for other in known) > 1
    short = f"{kind} {operator.operator}" if twice else kind
    several = len({other.query for other in known}) > 1
    return operator.name, f"{operator.query} {short}" if several else short, column(operator.t), column(values)


def _peaks(drawn: Drawn) -> Drawn:
    name, short, t, values = drawn
    return name, short, t, peaks(values)


def _lines(title: str, drawn: Sequence[Drawn], past: Sequence[Drawn], unit: Unit) -> Chart:
    """A line for each, highest last value first, over that of the day before (`past`) in the same colour. Lines beyond the number of
    colours are left out, and the legend counts them."""
    ranked = sorted(drawn, key=lambda curve: -(last(curve[3]) or 0))[: len(COLORS)]
    colored = list(zip(COLORS, ranked, strict=False))
    colors = {short: color for color, (_, short, _, _) in colored}
    before = [curve for curve in past if curve[1] in colors and np.isfinite(curve[3]).any()]
    traces = tuple(dotted(short, colors[short], t, values, unit) for _, short, t, values in before)
    traces += tuple(broken_line(short, color, t, values / unit.scale, unit) for color, (_, short, t, values) in colored)
    legend = [LegendEntry(short, unit.text(last(values)), color, hint=hint) for color, (hint, short, _, values) in colored]
    if len(drawn) > len(ranked):
        legend.append(LegendEntry(f"and {len(drawn) - len(ranked)} smaller", color="$muted"))
    summary = f"{title} over time; last: {', '.join(f'{entry.name} {entry.value}' for entry in legend)}."
    layout = {"yaxis": axis(unit, *(curve[3] for curve in (*ranked, *before)))}
    return Chart(title, traces, layout, tuple(legend), summary=summary)
