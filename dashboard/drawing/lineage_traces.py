"""What the tree of versions is drawn with: runs as bars, savepoints as marks, forks and resumes as curves. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from dashboard.drawing import verdicts
from dashboard.drawing.families import start
from dashboard.drawing.figures import BLUE, GRAY, GREEN, ORANGE, VIOLET
from dashboard.drawing.lineage_places import Placed, end, moment
from pipelines.domain.edges import Edge
from pipelines.domain.experiments import Mark
from pipelines.domain.ids import SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason
from pipelines.words import edges as words
from pipelines.words import formats
from pipelines.words.savepoints import ORIGINS, batches

ENDED, FORKED, SAVED = GRAY, "$muted", VIOLET
COLORS = {
    RunState.FAILED: "$red",
    RunState.RESTARTING: ORANGE,
    RunState.STOPPED: ENDED,
    RunState.FINISHED: ENDED,
    RunState.STOPPING: ORANGE,
    RunState.RUNNING: GREEN,
}
"""State of a run -> its colour; one that is about to run, or runs elsewhere, is blue."""
HOVER_LINES = 12
_CURVE_STEPS = 28
_ENDS = {RunState.FAILED: ("x", 10), RunState.RESTARTING: ("x", 10), RunState.STOPPED: ("square", 9), RunState.FINISHED: ("square", 9)}


def color(run: Run | None) -> str:
    """The colour of a run's state, and of a job's that has none yet."""
    return COLORS.get(run.state, BLUE) if run else ENDED


def _shade(placed: Placed, run: Run) -> str:
    """The colour of a run: of the newest one how its job does."""
    return placed.color if placed.color and run is placed.lane.runs[-1] else color(run)


def origin(
    placed: Placed, marks: Mapping[SavepointId, Mark], heights: Mapping[SavepointId, float], width_ms: float
) -> Iterator[dict[str, Any]]:
    """The dotted S-curve from the savepoint that a job began from; `heights` are those of the marks that are drawn."""
    mark = marks.get(placed.lane.origin_savepoint) if placed.lane.origin_savepoint else None
    if mark is None or mark.id not in heights or not placed.lane.runs:
        return
    # A fork that began at once still needs room for its curve: a fiftieth of the picture.
    x0, x1 = moment(mark), max(start(placed.lane.runs[0]), moment(mark) + width_ms / 50)
    y0, edge = heights[mark.id], placed.lane.runs[0].edge
    yield _curve(x0, y0, x1, placed.y, edge)
    yield from _verdict((x0 + x1) / 2, (y0 + placed.y) / 2, edge)


def runs(placed: Placed, marks: Mapping[SavepointId, Mark], now_ms: float) -> Iterator[dict[str, Any]]:
    """A bar for each run with a mark at its end, and the bows of resumes."""
    version = placed.lane.runs[0].version if placed.lane.runs else None
    for run in placed.lane.runs:
        x0, x1 = start(run), end(run, now_ms)
        own = marks.get(run.from_savepoint) if run.from_savepoint else None
        if own is not None and own.job == placed.lane.job:
            yield _arc(moment(own), x0, placed, run.edge)
        width, opacity = 2 if placed.calm else 4, 1.0 if run.state.live else 0.5
        yield _line([x0, x1], [placed.y, placed.y], _shade(placed, run), width=width, opacity=opacity)
        if run.version != version:
            yield from _verdict(x0, placed.y, run.edge)
        version = run.version
        yield _run_end(run, x1, placed)


def savepoints(
    placed: Placed, marks: Sequence[Mark], heights: Mapping[SavepointId, float], chosen: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Its marks: a diamond for one that was taken by hand, else a circle; smaller on a calm line."""
    if not marks:
        return
    by_hand = [mark.reason is Reason.MANUAL for mark in marks]
    on = [mark.id in chosen for mark in marks]
    less, edge = (4, 1.5) if placed.calm else (0, 2.25)
    yield {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "x": [moment(mark) for mark in marks],
        "y": [heights[mark.id] for mark in marks],
        "customdata": [[mark.id, _about(mark)] for mark in marks],
        "marker": {
            "symbol": ["diamond" if hand else "circle" for hand in by_hand],
            "size": [
                (17 if hand else 14) if is_chosen else (13 if hand else 10) - less for hand, is_chosen in zip(by_hand, on, strict=True)
            ],
            "color": [SAVED if hand or is_chosen else "$bg" for hand, is_chosen in zip(by_hand, on, strict=True)],
            "line": {
                "color": ["$text" if is_chosen else SAVED for is_chosen in on],
                "width": [3 if is_chosen else edge for is_chosen in on],
            },
            "opacity": 1,
        },
        "hovertemplate": "%{customdata[1]}<extra></extra>",
    }


def _verdict(x: float, y: float, edge: Edge | None) -> Iterator[dict[str, Any]]:
    """A small mark in the verdict's colour, which says on hover what became of the state."""
    if edge is None:
        return
    lines = [line for text in words.lines(edge) for line in wrap(text, 90)]
    shown = [*lines[:HOVER_LINES], *(["…"] if len(lines) > HOVER_LINES else [])]
    yield {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "x": [x],
        "y": [y],
        "hovertext": ["<br>".join([f"<b>{_escaped(words.briefly(edge))}</b>", *map(_escaped, shown)])],
        "marker": {"symbol": "hexagon", "size": 9, "color": verdicts.color(edge), "line": {"width": 1.5, "color": "$bg"}},
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _edge_color(edge: Edge | None) -> str:
    return verdicts.color(edge) if edge is not None and edge.outcome is not None else FORKED


def _curve(x0: float, y0: float, x1: float, y1: float, edge: Edge | None) -> dict[str, Any]:
    steps = [k / _CURVE_STEPS for k in range(_CURVE_STEPS + 1)]
    y = [y0 + (y1 - y0) * (3 * s * s - 2 * s**3) for s in steps]
    return _line([x0 + (x1 - x0) * s for s in steps], y, _edge_color(edge), width=2, dash="dot")


def _arc(x0: float, x1: float, placed: Placed, edge: Edge | None) -> dict[str, Any]:
    """A resume from an own savepoint: a low bow over the lane."""
    steps = [k / _CURVE_STEPS for k in range(_CURVE_STEPS + 1)]
    height = 0.6 if placed.calm else 1.2
    y = [placed.y - height * s * (1 - s) for s in steps]
    return _line([x0 + (x1 - x0) * s for s in steps], y, _edge_color(edge), width=1.5, dash="dot")


def _line(x: Sequence[float], y: Sequence[float], drawn: str, *, opacity: float = 1.0, **style: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "line": {"color": drawn, **style},
        "opacity": opacity,
        "hoverinfo": "skip",
    }


def _run_end(run: Run, at_ms: float, placed: Placed) -> dict[str, Any]:
    symbol, dot = _ENDS.get(run.state, ("circle", 12))
    reason = f"<br>{run.exit.error_class}" if run.exit and run.exit.error_class else ""
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "x": [at_ms],
        "y": [placed.y],
        **({"customdata": [[placed.lane.job]]} if run is placed.lane.runs[-1] else {}),
        "marker": {
            "symbol": symbol,
            "color": _shade(placed, run),
            "size": dot - 3 if placed.calm else dot,
            "line": {"width": 2, "color": "$bg"},
        },
        "hovertemplate": f"<b>{placed.lane.job}</b> · {run.state}{reason}<br>{run.id} · {run.version}<extra></extra>",
    }


def _about(mark: Mark) -> str:
    label = f"<br><i>{_escaped(mark.label)}</i>" if mark.label else ""
    of = _escaped(batches(mark.batches)) or formats.MISSING
    return f"<b>{mark.id}</b><br>batch {of} · {formats.size(mark.bytes)} · {ORIGINS[mark.reason]}{label}"


def _escaped(text: str) -> str:
    """Plotly reads a little HTML in texts; what people typed is shown as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
