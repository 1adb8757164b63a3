"""The tree of versions as a chart: lanes, runs, savepoints, forks. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dashboard.drawing import lineage_traces as traces
from dashboard.drawing import verdicts
from dashboard.drawing.families import Family, start
from dashboard.drawing.figures import Chart, LegendEntry
from dashboard.drawing.lineage_places import More, Placed, Places, end, heights, moment, placed
from pipelines.domain.experiments import Mark
from pipelines.domain.ids import JobName
from pipelines.domain.runs import RunState
from pipelines.words import formats
from pipelines.words.edges import NOT_CHECKED

LANE_HEIGHT = 58
VERSION_LETTERS = 10
"""The room that a version takes before how its job does, in letters of the size of a job's name."""
FOLDED = "folded:"
"""What a click on the line of a family's folded lanes gives, before the name of its root."""
NEAR = 0.025
"""Letters nearer to each other than this part of the picture's width would cover each other."""
TITLE = "Versions and savepoints"
LEGEND = (
    LegendEntry("running", color=traces.COLORS[RunState.RUNNING], symbol="dash"),
    LegendEntry("ended", color=traces.ENDED, symbol="dash"),
    LegendEntry("failed", color=traces.COLORS[RunState.FAILED], symbol="dash"),
    LegendEntry("savepoint by hand", color=traces.SAVED, symbol="diamond"),
    LegendEntry("automatic", color=traces.SAVED, symbol="circle"),
    LegendEntry("fork", color=traces.FORKED, symbol="dots"),
)


def tree_chart(
    families: Sequence[Family],
    *,
    now_ms: float,
    calm: bool = False,
    selected: str = "",
    against: str = "",
    health: Mapping[str, tuple[str, str]] | None = None,
) -> Chart:
    """Families below each other; with `calm` a job without forks is one thin line. `health` is how jobs do, in words and in a colour, where
    that is not the state of their newest run.

    A click on a mark gives its savepoint's id, one on a lane's end its job, one on folded lanes `FOLDED` and their family's root. With two
    points chosen, `selected` is marked as A and `against` as B.
    """
    marks = {mark.id: mark for family in families for mark in family.marks}
    if not marks and not any(lane.runs for family in families for lane in family.lanes):
        return Chart(TITLE, empty="Savepoints and forks will be drawn here")
    places = placed(families, calm=calm, health=health)
    span = _span(places.lanes, list(marks.values()), now_ms)
    chosen = {selected: "A", against: "B"} if selected and against else {}
    letters = _letters(places.lanes, list(marks.values()), chosen, now_ms, NEAR * (span[1] - span[0]))
    return Chart(
        TITLE,
        tuple(_traces(places, list(marks.values()), {selected, against}, span, now_ms)),
        _layout(places, span, letters),
        (*LEGEND, *_verdicts(places), *_troubles(places)),
        summary=f"{formats.plural(len(places.lanes), 'job')} with {formats.plural(len(marks), 'savepoint')} over time.",
        height=round(72 + LANE_HEIGHT * places.height),
    )


def _verdicts(places: Places) -> list[LegendEntry]:
    """Legend of what became of state under other code."""
    edges = [run.edge for row in places.lanes for run in row.lane.runs if run.edge is not None]
    told = dict.fromkeys((edge.outcome or NOT_CHECKED, verdicts.color(edge)) for edge in edges)
    return [LegendEntry(outcome, color=color, symbol="dots") for outcome, color in told]


def _troubles(places: Places) -> list[LegendEntry]:
    """Legend of what is said of jobs besides their states, without when it will be otherwise (`restarting in 4m 00s`)."""
    told = dict.fromkeys((row.does.partition(" in ")[0], row.color) for row in places.lanes if row.does)
    return [LegendEntry(words, color=color, symbol="dash") for words, color in told]


def _traces(
    places: Places, marks: Sequence[Mark], chosen: set[str], span: tuple[float, float], now_ms: float
) -> Iterator[Mapping[str, Any]]:
    """Curves below runs below savepoints."""
    by_id = {mark.id: mark for mark in marks}
    at = heights(places.lanes, marks)
    own: defaultdict[JobName, list[Mark]] = defaultdict(list)
    for mark in marks:
        own[mark.job].append(mark)
    for row in places.lanes:
        yield from traces.origin(row, by_id, at, span[1] - span[0])
    for row in places.lanes:
        yield from traces.runs(row, by_id, now_ms)
    for row in places.lanes:
        yield from traces.savepoints(row, own[row.lane.job], at, chosen)


def _span(lanes: Sequence[Placed], marks: Sequence[Mark], now_ms: float) -> tuple[float, float]:
    """From the first thing to the last one, epoch ms, with a margin."""
    taken = [moment(mark) for mark in marks]
    first = min([start(run) for row in lanes for run in row.lane.runs] + taken)
    final = max([end(run, now_ms) for row in lanes for run in row.lane.runs] + taken)
    margin = max((final - first) * 0.03, 2_000.0)
    return first - margin, final + margin


def _letters(
    lanes: Sequence[Placed], marks: Sequence[Mark], chosen: Mapping[str, str], now_ms: float, near_ms: float
) -> list[dict[str, Any]]:
    """The letters of the two points that are compared, over their marks; as one (`A·B`) where they would cover each other."""
    rows = {row.lane.job: row for row in lanes}
    at = {str(row.lane.job): (end(row.lane.runs[-1], now_ms), row) for row in lanes if row.lane.runs}
    at |= {mark.id: (moment(mark), rows[mark.job]) for mark in marks if mark.job in rows}
    letters = sorted(((*at[name], letter) for name, letter in chosen.items() if name in at), key=lambda entry: (entry[0], entry[2]))
    if len(letters) == 2 and letters[0][1] is letters[1][1] and letters[1][0] - letters[0][0] < near_ms:
        (x0, row, first), (x1, _, second) = letters
        letters = [((x0 + x1) / 2, row, f"{first}·{second}")]
    return [_letter(x, letter, row) for x, row, letter in letters]


def _letter(x: float, text: str, row: Placed) -> dict[str, Any]:
    font = {"size": 13, "color": "$text"}
    return {"x": x, "y": row.y, "text": f"<b>{text}</b>", "showarrow": False, "yshift": 15 if row.calm else 19, "font": font}


def _layout(places: Places, span: tuple[float, float], letters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    longest = max(max(len(row.lane.job), len(row.does) + VERSION_LETTERS if row.does else 0) for row in places.lanes)
    return {
        "margin": {"l": min(28 + 7 * longest, 250), "r": 20, "t": 30, "b": 12},
        "hovermode": "closest",
        "dragmode": "pan",
        "hoverdistance": 18,
        "span": list(span),
        "sticky": True,
        "xaxis": {"showgrid": True, "side": "top", "nticks": 9, "tickformatstops": []},
        "yaxis": {"visible": False, "range": [places.height - 0.4, -0.6], "rangemode": "normal", "fixedrange": True},
        "annotations": [*(note for row in places.lanes for note in _labels(row)), *map(_folded, places.more), *letters],
    }


def _labels(row: Placed) -> Iterator[dict[str, Any]]:
    """The job's name at the left edge, and its newest version below it; of a calm one the name alone."""
    newest = row.lane.runs[-1] if row.lane.runs else None
    place = {"xref": "paper", "x": 0, "xanchor": "right", "xshift": -14, "y": row.y, "showarrow": False, "align": "right"}
    name = formats.shortened(row.lane.job, 31)
    if row.calm:
        yield {**place, "text": name, "font": {"size": 12, "color": "$muted"}}
        return
    yield {**place, "text": f"<b>{name}</b>", "yshift": 8, "font": {"size": 12, "color": "$text"}}
    if newest:
        version = f"{formats.short_id(newest.version)} · {row.does or newest.state.value}"
        yield {**place, "text": version, "yshift": -8, "font": {"size": 11, "color": "$muted"}}


def _folded(note: More) -> dict[str, Any]:
    """The line of what is folded; a click on it shows all of the family."""
    root = note.family.root
    return {
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "y": note.y,
        "showarrow": False,
        "text": f"{formats.plural(note.family.folded, 'job')} of {root} that ended: show all",
        "font": {"size": 12, "color": "$muted"},
        "captureevents": True,
        "name": FOLDED + root,
    }
