"""The tree of versions as a chart: lanes, runs, savepoints, forks. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard import formats
from dashboard.figures import BLUE, CYAN, GRAY, GREEN, ORANGE, PINK, VIOLET, Chart, LegendEntry
from pipelines.domain.experiments import Lane, Mark, Tree
from pipelines.domain.ids import SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason

LANE_COLORS = (BLUE, GREEN, VIOLET, ORANGE, PINK, CYAN, GRAY)
LANE_HEIGHT = 58
_CURVE_STEPS = 28
_ENDS = {
    RunState.FAILED: ("x", "$red", 10),
    RunState.STOPPED: ("square", "", 9),
    RunState.FINISHED: ("square", "", 9),
}


@dataclass(frozen=True)
class Placed:
    """A job with its row in the picture."""

    lane: Lane
    row: int

    @property
    def color(self) -> str:
        return LANE_COLORS[self.row % len(LANE_COLORS)]


def tree_chart(tree: Tree, *, now_ms: float, selected: str = "", against: str = "", title: str = "Versions and savepoints") -> Chart:
    """Lanes in the order of descent; a click on a mark gives its savepoint's id, one on a lane's end its job.

    With two points chosen, `selected` is marked as A and `against` as B.
    """
    if not any(lane.runs for lane in tree.lanes) and not tree.marks:
        return Chart(title, empty="Savepoints and forks will be drawn here")
    placed = ordered(tree)
    rows = {p.lane.job: p for p in placed}
    marks = {m.id: m for m in tree.marks}
    first, final = _span(tree, now_ms)
    own: defaultdict[str, list[Mark]] = defaultdict(list)
    for mark in tree.marks:
        own[mark.job].append(mark)
    traces = [
        *(trace for p in placed for trace in _origin(p, rows, marks, final - first)),
        *(trace for p in placed for trace in _runs(p, marks, now_ms)),
        *(trace for p in placed if (trace := _marks(p, own[p.lane.job], {selected, against}))),
    ]
    letters = _letters(placed, tree.marks, {selected: "A", against: "B"}, now_ms) if selected and against else []
    return Chart(
        title,
        tuple(traces),
        _layout(placed, first, final, letters),
        LEGEND,
        summary=f"{formats.plural(len(placed), 'job')} with {formats.plural(len(tree.marks), 'savepoint')} over time.",
        height=72 + LANE_HEIGHT * len(placed),
    )


LEGEND = (
    LegendEntry("by hand", color="$muted", symbol="diamond"),
    LegendEntry("automatic", color="$muted", symbol="circle"),
    LegendEntry("fork", color="$muted", symbol="dash"),
)


def ordered(tree: Tree) -> list[Placed]:
    """Parents before their forks, forks right below, older ones first."""
    parent_of = {m.id: m.job for m in tree.marks}
    known = {lane.job for lane in tree.lanes}
    children: dict[str, list[Lane]] = {}
    for lane in sorted(tree.lanes, key=_begin):
        parent = parent_of.get(lane.origin_savepoint) if lane.origin_savepoint else None
        children.setdefault(parent if parent in known and parent != lane.job else "", []).append(lane)

    def descend(of: str) -> Iterator[Lane]:
        for lane in children.get(of, []):
            yield lane
            yield from descend(lane.job)

    return [Placed(lane, row) for row, lane in enumerate(descend(""))]


def _begin(lane: Lane) -> float:
    return min((_start(run) for run in lane.runs), default=float("inf"))


def _start(run: Run) -> float:
    return run.started_ms or run.created_ms


def _end(run: Run, now_ms: float) -> float:
    return max(_start(run), run.ended_ms or now_ms)


def _at(mark: Mark) -> float:
    """Where a savepoint sits in time: at the batch that it holds, not at the moment it was taken."""
    return mark.batch_timestamp_ms or mark.at_ms


def _span(tree: Tree, now_ms: float) -> tuple[float, float]:
    times = [_start(run) for lane in tree.lanes for run in lane.runs] + [_at(mark) for mark in tree.marks]
    ends = [_end(run, now_ms) for lane in tree.lanes for run in lane.runs] + [_at(mark) for mark in tree.marks]
    first, final = min(times), max(ends)
    margin = max((final - first) * 0.03, 2_000.0)
    return first - margin, final + margin


def _origin(placed: Placed, rows: dict[Any, Placed], marks: dict[SavepointId, Mark], width: float) -> Iterator[dict[str, Any]]:
    """The dotted S-curve from the savepoint that a job began from."""
    mark = marks.get(placed.lane.origin_savepoint) if placed.lane.origin_savepoint else None
    if mark is None or mark.job not in rows or not placed.lane.runs:
        return
    start = _start(placed.lane.runs[0])
    # A fork that began at once still needs room for its curve: a fiftieth of the picture.
    x0, x1 = _at(mark), max(start, _at(mark) + width / 50)
    yield _curve(x0, rows[mark.job].row, x1, placed.row, placed.color)


def _curve(x0: float, y0: float, x1: float, y1: float, color: str) -> dict[str, Any]:
    steps = [k / _CURVE_STEPS for k in range(_CURVE_STEPS + 1)]
    y = [y0 + (y1 - y0) * (3 * s * s - 2 * s**3) for s in steps]
    return _line([x0 + (x1 - x0) * s for s in steps], y, color, width=2, dash="dot")


def _line(x: Sequence[float], y: Sequence[float], color: str, *, opacity: float = 1.0, **style: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "line": {"color": color, **style},
        "opacity": opacity,
        "hoverinfo": "skip",
    }


def _runs(placed: Placed, marks: dict[SavepointId, Mark], now_ms: float) -> Iterator[dict[str, Any]]:
    for run in placed.lane.runs:
        start, end = _start(run), _end(run, now_ms)
        own = marks.get(run.from_savepoint) if run.from_savepoint else None
        if own is not None and own.job == placed.lane.job:
            yield _arc(_at(own), start, placed)
        opacity = 1.0 if run.state.live else 0.5
        yield _line([start, end], [placed.row, placed.row], placed.color, width=4, opacity=opacity)
        yield _run_end(run, end, placed)


def _arc(x0: float, x1: float, placed: Placed) -> dict[str, Any]:
    """A resume from an own savepoint: a low bow over the lane."""
    steps = [k / _CURVE_STEPS for k in range(_CURVE_STEPS + 1)]
    y = [placed.row - 1.2 * s * (1 - s) for s in steps]
    return _line([x0 + (x1 - x0) * s for s in steps], y, placed.color, width=1.5, dash="dot")


def _run_end(run: Run, end: float, placed: Placed) -> dict[str, Any]:
    symbol, color, dot = _ENDS.get(run.state, ("circle", "", 12))
    reason = f"<br>{run.exit.error_class}" if run.exit and run.exit.error_class else ""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [end],
        "y": [placed.row],
        **({"customdata": [[placed.lane.job]]} if run is placed.lane.runs[-1] else {}),
        "marker": {"symbol": symbol, "color": color or placed.color, "size": dot, "line": {"width": 2, "color": "$bg"}},
        "hovertemplate": f"<b>{placed.lane.job}</b> · {run.state}{reason}<br>{run.id} · {run.version}<extra></extra>",
    }


def _marks(placed: Placed, marks: Sequence[Mark], selected: Collection[str]) -> dict[str, Any] | None:
    if not marks:
        return None
    by_hand = [m.reason is Reason.MANUAL for m in marks]
    chosen = [m.id in selected for m in marks]
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "x": [_at(m) for m in marks],
        "y": [placed.row] * len(marks),
        "customdata": [[m.id, _about(m)] for m in marks],
        "marker": {
            "symbol": ["diamond" if hand else "circle" for hand in by_hand],
            "size": [(17 if hand else 14) if on else (13 if hand else 10) for hand, on in zip(by_hand, chosen, strict=True)],
            "color": [placed.color if hand or on else "$bg" for hand, on in zip(by_hand, chosen, strict=True)],
            "line": {"color": ["$text" if on else placed.color for on in chosen], "width": [3 if on else 2.25 for on in chosen]},
            "opacity": 1,
        },
        "hovertemplate": "%{customdata[1]}<extra></extra>",
    }


def _about(mark: Mark) -> str:
    label = f"<br><i>{_escaped(mark.label)}</i>" if mark.label else ""
    return f"<b>{mark.id}</b><br>batch {mark.batch:,} · {formats.size(mark.bytes)} · {mark.reason.replace('-', ' ')}{label}"


def _letters(placed: Sequence[Placed], marks: Sequence[Mark], chosen: Mapping[str, str], now_ms: float) -> list[dict[str, Any]]:
    """The letters of the two points that are compared, over their marks."""
    rows = {p.lane.job: p.row for p in placed}
    at: dict[str, tuple[float, int]] = {p.lane.job: (_end(p.lane.runs[-1], now_ms), p.row) for p in placed if p.lane.runs}
    at |= {m.id: (_at(m), rows[m.job]) for m in marks if m.job in rows}
    style = {"showarrow": False, "yshift": 19, "font": {"size": 13, "color": "$text"}}
    return [{"x": at[name][0], "y": at[name][1], "text": f"<b>{letter}</b>", **style} for name, letter in chosen.items() if name in at]


def _escaped(text: str) -> str:
    """Plotly reads a little HTML in texts; what people typed is shown as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _layout(placed: Sequence[Placed], first: float, final: float, letters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    longest = max(len(p.lane.job) for p in placed)
    return {
        "margin": {"l": min(28 + 7 * longest, 250), "r": 20, "t": 6, "b": 30},
        "hovermode": "closest",
        "dragmode": "pan",
        "hoverdistance": 18,
        "span": [first, final],
        "xaxis": {"showgrid": True, "nticks": 9, "tickformatstops": []},
        "yaxis": {"visible": False, "range": [len(placed) - 0.4, -0.6], "rangemode": "normal", "fixedrange": True},
        "annotations": [*(note for p in placed for note in _labels(p)), *letters],
    }


def _labels(placed: Placed) -> Iterator[dict[str, Any]]:
    """The job's name at the left edge, and its newest version below it."""
    newest = placed.lane.runs[-1] if placed.lane.runs else None
    place = {"xref": "paper", "x": 0, "xanchor": "right", "xshift": -14, "y": placed.row, "showarrow": False, "align": "right"}
    name = placed.lane.job if len(placed.lane.job) <= 31 else placed.lane.job[:30] + "…"
    yield {**place, "text": f"<b>{name}</b>", "yshift": 8, "font": {"size": 12, "color": placed.color}}
    if newest:
        state = newest.state.value
        yield {**place, "text": f"{formats.short_id(newest.version)} · {state}", "yshift": -8, "font": {"size": 11, "color": "$muted"}}
