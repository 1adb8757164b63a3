"""A plan as a picture: sources above, sink below, no box on another, and every number in a unit."""

from __future__ import annotations

from itertools import combinations

import pytest

from dashboard.drawing.plan_graph import BOX_WIDTH, SINK, Box, as_json, picture, quantity
from pipelines.domain.plans import Metric, PlanEdge, PlanNode, QueryPlan
from tests import samples


def plan(*pairs: tuple[int, int], metrics: tuple[Metric, ...] = ()) -> QueryPlan:
    """Nodes 0 to the greatest named, rows going from the first to the second of each pair."""
    count = max((end for pair in pairs for end in pair), default=0) + 1
    nodes = tuple(PlanNode(at, f"Node{at}", "", None, metrics if at % 2 else ()) for at in range(count))
    return QueryPlan("q", 1, 0, nodes, tuple(PlanEdge(source, target) for source, target in pairs))


ROWS = (Metric("number of output rows", 5, "rows"),)
SHAPES = {
    "one": plan(),
    "chain": plan((1, 0), (2, 1), (3, 2), metrics=ROWS),
    "join": plan((1, 0), (2, 1), (3, 2), (4, 0), (5, 4), metrics=ROWS),
    "union of joins": plan((1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 3), (7, 3), (8, 7), (9, 7), metrics=ROWS),
    "one source used twice": plan((1, 0), (2, 0), (3, 1), (3, 2), (4, 3), metrics=ROWS),
    "used near and far": plan((1, 0), (2, 1), (3, 2), (4, 3), (4, 0), metrics=ROWS),
}


def overlap(a: Box, b: Box) -> bool:
    return abs(a.x - b.x) < BOX_WIDTH and a.y < b.y + b.height and b.y < a.y + a.height


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_no_box_lies_on_another_and_rows_go_down(shape: QueryPlan) -> None:
    drawn = picture(shape, sink="parquet", sink_path="/out")
    assert len(drawn.boxes) == len(shape.nodes) + 1 and len(drawn.lines) == len(shape.edges) + 1
    assert not [pair for pair in combinations(drawn.boxes, 2) if overlap(*pair)]
    assert all(y1 > y0 for _, y0, _, y1 in (line.points for line in drawn.lines))
    assert all(0 <= box.x <= drawn.width - BOX_WIDTH and box.y + box.height <= drawn.height for box in drawn.boxes)
    assert max(drawn.boxes, key=lambda box: box.y).id == SINK


def test_boxes_say_what_they_are() -> None:
    boxes = {box.title: box for box in picture(samples.query_plan(), sink="parquet", sink_path="/out").boxes}
    kinds = {title: (box.kind, box.line) for title, box in boxes.items()}
    assert kinds == {
        "WriteToDataSourceV2": ("sink", "24 rows"),
        "StateStoreSave · 0": ("state", "24 rows · 116 in state"),
        "StreamingSymmetricHashJoin · 1": ("state", "87 rows · 480 in state"),
        "Scan json": ("source", "40 rows"),
        "MicroBatchScan": ("source", "47 rows"),
        "Sink: parquet": ("sink", ""),
    }
    assert ("memory used by state", "1.2 MB") in boxes["StateStoreSave · 0"].facts
    assert boxes["Sink: parquet"].facts == (("path", "/out"),)
    assert "whatever Spark says" in boxes["Scan json"].detail


def test_a_plan_without_nodes_is_an_empty_picture() -> None:
    drawn = picture(QueryPlan("q", 1, 0, (), ()), sink="parquet")
    assert as_json(drawn)["boxes"] == [] and as_json(drawn)["lines"] == []


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (Metric("data size", 33_554_440, "bytes"), "33.6 MB"),
        (Metric("time to update", 1_500, "ms"), "1.50 s"),
        (Metric("number of output rows", 1_500, "rows"), "1,500"),
        (Metric("avg hash probes per key", 1.5, ""), "1.5"),
    ],
)
def test_quantities(metric: Metric, text: str) -> None:
    assert quantity(metric) == text
