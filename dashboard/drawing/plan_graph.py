"""A query's plan as a picture: boxes from the sources at the top to the sink at the bottom, and the lines between them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipelines.domain.plans import OUTPUT_ROWS, SHUFFLED_ROWS, STATE_ROWS, Metric, PlanNode, QueryPlan, main_metrics
from pipelines.words import formats

BOX_WIDTH, GAP_X = 248, 22
LOW, HIGH = 30, 48
"""Heights of a box with its name alone, and with a line of metrics."""
GAP_Y = 24
MARGIN = 2
SINK = -1
"""The box of the sink, which is no operator of Spark's."""
_WORDS = {OUTPUT_ROWS: "rows", SHUFFLED_ROWS: "rows shuffled", STATE_ROWS: "in state"}
Kind = Literal["source", "state", "exchange", "sink", "plain"]


@dataclass(frozen=True)
class Box:
    """One operator in the picture: its place in px, what stands in it, and what a click on it shows."""

    id: int
    kind: Kind
    title: str
    line: str
    detail: str
    facts: tuple[tuple[str, str], ...]
    x: float
    y: float
    height: float


@dataclass(frozen=True)
class Line:
    """From the bottom of one box to the top of another."""

    source: int
    target: int
    points: tuple[float, float, float, float]


@dataclass(frozen=True)
class Picture:
    """All boxes and lines, in px."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def picture(plan: QueryPlan, *, sink: str = "", sink_path: str = "") -> Picture:
    """`plan` laid out: what nodes need stands above them, a node is in the middle below what it needs."""
    depths = _depths(plan)
    columns = _columns(plan)
    tops = _tops(plan, depths)
    boxes = {node.id: _box(node, _kind(node, plan), columns[node.id], tops[node.id]) for node in plan.nodes}
    pairs = [(edge.source, edge.target) for edge in plan.edges]
    if sink and plan.nodes:
        end = plan.nodes[0].id
        boxes[SINK] = _sink(boxes[end], sink, sink_path)
        pairs.append((end, SINK))
    lines = tuple(_line(boxes[source], boxes[target]) for source, target in pairs)
    width = max((box.x + BOX_WIDTH for box in boxes.values()), default=0) + MARGIN
    height = max((box.y + box.height for box in boxes.values()), default=0) + MARGIN
    return Picture(width, height, tuple(boxes.values()), lines)


def needs(plan: QueryPlan) -> Mapping[int, Sequence[int]]:
    """Node -> the nodes whose rows it takes, in Spark's order."""
    sources: dict[int, list[int]] = {node.id: [] for node in plan.nodes}
    for edge in plan.edges:
        sources[edge.target].append(edge.source)
    return sources


def _depths(plan: QueryPlan) -> Mapping[int, int]:
    """How many steps a node is from the end, by its longest way: a part that is used twice stands above both that use it."""
    above, depths = needs(plan), {node.id: 0 for node in plan.nodes}

    def push(node: int, depth: int) -> None:
        depths[node] = max(depths[node], depth)
        for source in above[node]:
            if depths[source] < depths[node] + 1:
                push(source, depths[node] + 1)

    for node in plan.nodes[:1]:
        push(node.id, 0)
    return depths


def _columns(plan: QueryPlan) -> Mapping[int, float]:
    """Where each node stands from left to right, in px: sources side by side, every other node in the middle of what it needs."""
    above, columns = needs(plan), dict[int, float]()
    taken = 0

    def place(node: int) -> float:
        nonlocal taken
        if node not in columns:
            own = [source for source in above[node] if source not in columns]
            spots = [place(source) for source in own]
            if not spots:
                spots = [MARGIN + taken * (BOX_WIDTH + GAP_X)]
                taken += 1
            columns[node] = (spots[0] + spots[-1]) / 2
        return columns[node]

    for node in plan.nodes:
        place(node.id)
    return columns


def _tops(plan: QueryPlan, depths: Mapping[int, int]) -> Mapping[int, float]:
    """From top to bottom, in px: nodes of one depth stand in one row, as high as the highest of them."""
    rows: dict[int, list[PlanNode]] = {}
    for node in plan.nodes:
        rows.setdefault(depths[node.id], []).append(node)
    tops, y = dict[int, float](), float(MARGIN)
    for depth in sorted(rows, reverse=True):
        tops |= {node.id: y for node in rows[depth]}
        y += max(_height(node) for node in rows[depth]) + GAP_Y
    return tops


def _height(node: PlanNode) -> float:
    return HIGH if main_metrics(node) else LOW


def _box(node: PlanNode, kind: Kind, x: float, y: float) -> Box:
    facts = tuple((metric.name, quantity(metric)) for metric in node.metrics if metric.value)
    name = node.name if node.operator is None else f"{node.name} · {node.operator}"
    return Box(node.id, kind, name, _metrics_line(node), node.detail, facts, x, y, _height(node))


def _sink(end: Box, sink: str, path: str) -> Box:
    """Below the operator that the query ends with."""
    facts = (("path", path),) if path else ()
    return Box(SINK, "sink", f"Sink: {sink}", "", "", facts, end.x, end.y + end.height + GAP_Y, LOW)


def _metrics_line(node: PlanNode) -> str:
    """The main metrics in a few words: what it gave on, what it keeps."""
    return " · ".join(f"{formats.compact(metric.value)} {_WORDS[metric.name]}" for metric in main_metrics(node))


def _kind(node: PlanNode, plan: QueryPlan) -> Kind:
    if node.operator is not None:
        return "state"
    if not any(edge.target == node.id for edge in plan.edges):
        return "source"
    return "exchange" if "Exchange" in node.name else "sink" if re.match(r"Write|AppendData|Overwrite", node.name) else "plain"


def _line(source: Box, target: Box) -> Line:
    middle = BOX_WIDTH / 2
    return Line(source.id, target.id, (source.x + middle, source.y + source.height, target.x + middle, target.y))


def quantity(metric: Metric) -> str:
    """A metric's value with its unit."""
    if metric.unit == "bytes":
        return formats.size(metric.value)
    if metric.unit == "ms":
        return formats.duration(metric.value)
    return formats.count(metric.value) if metric.value == int(metric.value) else f"{metric.value:,.1f}"


def as_json(drawn: Picture) -> dict[str, Any]:
    """For the browser: short names, because it is sent at every refresh."""
    boxes = [
        {
            "id": box.id, "kind": box.kind, "title": box.title, "line": box.line, "detail": box.detail, "facts": box.facts,
            "x": box.x, "y": box.y, "w": BOX_WIDTH, "h": box.height,
        }
        for box in drawn.boxes
    ]  # fmt: skip
    lines = [{"from": line.source, "to": line.target, "at": line.points} for line in drawn.lines]
    return {"width": drawn.width, "height": drawn.height, "boxes": boxes, "lines": lines}
