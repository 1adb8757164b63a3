"""Batches as a timeline: a bar each, as high as the batch took, phases stacked; late rows, gaps, failures, savepoints. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from dashboard.drawing.figures import GRAY, RED, Chart, LegendEntry, TimeMark
from dashboard.drawing.jobs import axis
from dashboard.drawing.marks import counted
from dashboard.drawing.phases import PHASES, REST, Phase, timed
from dashboard.drawing.units import Unit, milliseconds
from pipelines.domain.experiments import BatchRow
from pipelines.domain.jobs import Run
from pipelines.words import formats

MOST_BARS = 400
"""Beyond so many batches a bar stands for several, and is the slowest of them."""
IDLE_STEPS = 4
LEAST_GAP_MS = 5_000
"""A gap without a batch is hatched where it is longer than this and than so many usual steps."""
KEPT, PURGED = 0.95, 0.4
"""Opacity of a batch that Spark still keeps, and of one that it has purged."""
HEIGHT = 230


@dataclass(frozen=True)
class Bar:
    """One batch of the timeline: `begin_ms` and `width_ms` on the clock; it is the slowest of `of` batches."""

    row: BatchRow
    begin_ms: float
    width_ms: float
    of: int
    late_rows: int
    kept: bool

    @property
    def middle_ms(self) -> float:
        return self.begin_ms + self.width_ms / 2


def batch_id(row: BatchRow) -> str:
    """The id of a batch in the address: `query:batch`."""
    return f"{row.query}:{row.batch}"


def timeline(
    rows: Sequence[BatchRow], kept: frozenset[int], failed: Sequence[Run] = (), marks: Sequence[TimeMark] = (), selected: str = ""
) -> Chart:
    """The batches of one query, given newest first. A bar's click gives `query:batch`; `kept` are the batches that Spark still keeps."""
    ascending = sorted(rows, key=lambda row: (row.at_ms, row.batch))
    if not ascending:
        return Chart("Batches", empty="No batch yet")
    drawn = bars(ascending, kept)
    took = np.asarray([bar.row.batch_ms for bar in drawn], dtype=np.float64)
    unit, top = milliseconds(took), float(took.max()) or 1.0
    span = (drawn[0].begin_ms, max(drawn[-1].begin_ms + drawn[-1].width_ms, *(run.ended_ms or 0 for run in failed), 0))
    crashes = [run for run in failed if run.ended_ms and span[0] <= run.ended_ms]
    gaps = idle_gaps(drawn)
    behind = [*_hatched(gaps, top / unit.scale), *_failures(crashes, drawn, top / unit.scale)]
    traces = (*_phases(drawn, unit, selected), *behind, *_late(drawn, unit))
    within = counted([mark for mark in marks if mark.at_ms >= span[0]], span)
    layout = {"yaxis": axis(unit, took), "barmode": "stack", "bargap": 0, "hovermode": "closest", "span": _padded(span)}
    legend, summary = _legend(drawn, gaps, crashes), _summary(drawn, gaps, crashes)
    return Chart("Batches", traces, layout, legend, within, summary=summary, height=HEIGHT)


def bars(ascending: Sequence[BatchRow], kept: frozenset[int]) -> list[Bar]:
    """At most `MOST_BARS` bars, which do not overlap: each is as wide as its batch took, at least a part of the usual step."""
    size = -(-len(ascending) // MOST_BARS)
    groups = [ascending[place : place + size] for place in range(0, len(ascending), size)]
    begins = [group[0].at_ms for group in groups]
    step = _step(begins)
    ends = [*begins[1:], begins[-1] + max(step, ascending[-1].batch_ms)]
    return [_bar(group, begin, end, step, kept) for group, begin, end in zip(groups, begins, ends, strict=True)]


def _bar(group: Sequence[BatchRow], begin: float, end: float, step: float, kept: frozenset[int]) -> Bar:
    slowest = max(group, key=lambda row: row.batch_ms)
    covered = group[-1].at_ms + group[-1].batch_ms - begin
    width = min(max(covered, 0.6 * step), max(0.9 * (end - begin), 1.0))
    return Bar(slowest, begin, width, len(group), sum(row.late_rows for row in group), slowest.batch in kept)


def _step(begins: Sequence[float]) -> float:
    """The usual time between two bars' beginnings."""
    steps = [later - earlier for earlier, later in pairwise(begins) if later > earlier]
    return median(steps) if steps else 1_000.0


def idle_gaps(drawn: Sequence[Bar]) -> list[tuple[float, float]]:
    """Begin and end of each time in which no batch ran for long, ascending."""
    least = max(LEAST_GAP_MS, IDLE_STEPS * _step([bar.begin_ms for bar in drawn]))
    between = [(bar.begin_ms + max(bar.width_ms, bar.row.batch_ms), later.begin_ms) for bar, later in pairwise(drawn)]
    return [(begin, end) for begin, end in between if end - begin > least]


def _phases(drawn: Sequence[Bar], unit: Unit, selected: str) -> list[dict[str, Any]]:
    by_phase = [dict(timed(bar.row.phases, bar.row.batch_ms)) for bar in drawn]
    present = [phase for phase in (*PHASES, REST) if any(took.get(phase) for took in by_phase)]
    return [_phase(phase, [took.get(phase, 0.0) for took in by_phase], drawn, unit, selected) for phase in present]


def _phase(phase: Phase, took: Sequence[float], drawn: Sequence[Bar], unit: Unit, selected: str) -> dict[str, Any]:
    chosen = [batch_id(bar.row) == selected for bar in drawn]
    return {
        **_bar_trace(phase.title, [bar.middle_ms for bar in drawn], [bar.width_ms for bar in drawn]),
        "y": [value / unit.scale for value in took],
        "customdata": [batch_id(bar.row) for bar in drawn],
        "text": [_hover(bar, phase, value) for bar, value in zip(drawn, took, strict=True)],
        "color": phase.color,
        "marker": {
            "color": phase.color,
            "opacity": [KEPT if bar.kept or is_chosen else PURGED for bar, is_chosen in zip(drawn, chosen, strict=True)],
            "line": {"color": "$text", "width": [1.5 if is_chosen else 0 for is_chosen in chosen]},
        },
    }


def _bar_trace(name: str, middles: Sequence[float], widths: Sequence[float]) -> dict[str, Any]:
    placed = {"x": list(middles), "width": list(widths)}
    return {"type": "bar", "name": name, **placed, "textposition": "none", "hovertemplate": "%{text}<extra></extra>"}


def _hover(bar: Bar, phase: Phase, took: float) -> str:
    row = bar.row
    lines = [
        f"<b>batch {row.batch:,}</b> · {formats.duration(row.batch_ms)}{f' · slowest of {bar.of}' if bar.of > 1 else ''}",
        f"{phase.title} {formats.duration(took)}",
        f"{formats.count(row.input_rows)} rows{f', {bar.late_rows:,} late' if bar.late_rows else ''}",
        "kept by Spark" if bar.kept else "purged by Spark",
    ]
    return "<br>".join(lines)


def _hatched(gaps: Sequence[tuple[float, float]], top: float) -> list[dict[str, Any]]:
    if not gaps:
        return []
    drawn = _bar_trace("no batch", [(begin + end) / 2 for begin, end in gaps], [end - begin for begin, end in gaps])
    pattern = {"shape": "/", "fgcolor": "$muted", "fgopacity": 0.35, "size": 7, "solidity": 0.12, "fillmode": "overlay"}
    marker = {"color": "rgba(0,0,0,0)", "line": {"width": 0}, "pattern": pattern}
    text = [f"no batch for {formats.duration(end - begin)}" for begin, end in gaps]
    return [{**drawn, "y": [top] * len(gaps), "text": text, "marker": marker}]


def _late(drawn: Sequence[Bar], unit: Unit) -> list[dict[str, Any]]:
    late = [bar for bar in drawn if bar.late_rows]
    if not late:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "late rows",
            "x": [bar.middle_ms for bar in late],
            "y": [bar.row.batch_ms / unit.scale for bar in late],
            "customdata": [batch_id(bar.row) for bar in late],
            "text": [f"{formats.plural(bar.late_rows, 'late row')} dropped" for bar in late],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"symbol": "triangle-down", "size": 7, "color": RED, "line": {"color": "$bg", "width": 1}},
        }
    ]


def _failures(crashes: Sequence[Run], drawn: Sequence[Bar], top: float) -> list[dict[str, Any]]:
    if not crashes:
        return []
    width = 0.6 * _step([bar.begin_ms for bar in drawn])
    described = _bar_trace("failed", [float(run.ended_ms or 0) for run in crashes], [width] * len(crashes))
    text = [f"<b>the run failed</b><br>{(run.exit.error_class if run.exit else '') or 'see its log'}" for run in crashes]
    return [{**described, "y": [top] * len(crashes), "text": text, "color": RED, "marker": {"color": RED, "opacity": 0.9}}]


def failed_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs that failed."""
    return [run for run in runs if run.state.has_failed and run.ended_ms]


def _padded(span: tuple[float, float]) -> list[float]:
    margin = 0.01 * (span[1] - span[0])
    return [span[0] - margin, span[1] + margin]


def _legend(drawn: Sequence[Bar], gaps: Sequence[object], crashes: Sequence[object]) -> tuple[LegendEntry, ...]:
    present = {phase for bar in drawn for phase, took in timed(bar.row.phases, bar.row.batch_ms) if took}
    late = sum(bar.late_rows for bar in drawn)
    entries = [LegendEntry(phase.title, color=phase.color) for phase in (*PHASES, REST) if phase in present]
    extra = [
        (late, LegendEntry("late rows", formats.compact(late), RED, "diamond")),
        (gaps, LegendEntry("no batch", formats.plural(len(gaps), "gap"), GRAY, "dash")),
        (crashes, LegendEntry("failed", f"{len(crashes)}", RED)),
    ]
    if not all(bar.kept for bar in drawn):
        entries.append(LegendEntry("pale: purged by Spark", color="$muted", symbol="circle"))
    return (*entries, *(entry for there, entry in extra if there))


def _summary(drawn: Sequence[Bar], gaps: Sequence[object], crashes: Sequence[object]) -> str:
    slowest = max(drawn, key=lambda bar: bar.row.batch_ms).row
    batches = formats.plural(sum(bar.of for bar in drawn), "batch", "batches")
    kept = sum(bar.kept for bar in drawn)
    gone = f"{formats.plural(len(gaps), 'gap')} without a batch, {formats.plural(len(crashes), 'failure')}"
    return (
        f"{batches} over time; the slowest is batch {slowest.batch:,} with {formats.duration(slowest.batch_ms)}; {gone}; "
        f"Spark keeps {kept:,} of the {formats.plural(len(drawn), 'bar')} shown."
    )
