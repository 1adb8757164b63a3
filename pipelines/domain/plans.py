"""The executed plan of a query's batch: Spark's operators as a graph, with the SQL metrics on them.

The driver reads Spark's `SparkPlanInfo` (what Spark's own page and its event log are made of) into these values, and writes them
as `plans/<query>.json` of its run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.domain.bounds import Count, Format, Long, Moment, Rate

PLANS_FOLDER = "plans"
PLAN_FORMAT = 1
DETAIL_CHARS = 2_000
_WRAPPERS = re.compile(r"^(WholeStageCodegen|InputAdapter|AdaptiveSparkPlan|\w*QueryStage)\b")
"""Nodes that say how Spark runs the ones below them: they do nothing to rows."""
_STATE = re.compile(r"\bopId = ([0-9]+)")
_NOISE = re.compile(r"^RocksDB: (?!size of all SST files)|merged|Python")
"""Metrics that are not kept: what a state store does inside (its progress has what matters), push-based shuffle, Python's pipes."""
OUTPUT_ROWS = "number of output rows"
SHUFFLED_ROWS = "shuffle records written"
STATE_ROWS = "number of total state rows"


@dataclass(frozen=True)
class Metric:
    """One of Spark's SQL metrics over the whole batch; `unit` is rows, bytes, ms, or empty for a plain number."""

    name: str
    value: Rate
    unit: str


@dataclass(frozen=True)
class PlanNode:
    """One operator; `detail` is all that Spark says of it in a line, at most 2,000 characters."""

    id: Long
    name: str
    detail: str
    operator: Long | None
    """Spark's id of a stateful operator, None for one without state."""
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class PlanEdge:
    """Rows go from one node to another."""

    source: Count
    target: Count


@dataclass(frozen=True)
class QueryPlan:
    """The plan of one batch of one query. The first node is the one that the query ends with; each edge leads towards it."""

    query: str
    batch: Count
    at_ms: Moment
    """When it was written down."""
    nodes: tuple[PlanNode, ...]
    edges: tuple[PlanEdge, ...]
    format: Format = PLAN_FORMAT

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def accumulators(info: Mapping[str, Any]) -> Iterator[int]:
    """Ids of the metrics in a `SparkPlanInfo` that are kept."""
    yield from (metric["accumulatorId"] for metric in info["metrics"] if not _NOISE.search(metric["name"]))
    for child in info["children"]:
        yield from accumulators(child)


def read_plan(query: str, batch: int, at_ms: int, info: Mapping[str, Any], values: Mapping[int, float]) -> QueryPlan:
    """A `SparkPlanInfo` as a graph without wrappers; `values` has the metrics by accumulator id. A part that is used twice is one."""
    graph = _Graph(values)
    for top in graph.tops(info):
        graph.add(top)
    return QueryPlan(query, batch, at_ms, tuple(graph.nodes), tuple(graph.edges))


class _Graph:
    """Collects nodes as the tree is walked from the query's end to its sources."""

    def __init__(self, values: Mapping[int, float]) -> None:
        self.nodes: list[PlanNode] = []
        self.edges: list[PlanEdge] = []
        self._values = values
        self._known: dict[tuple[int, ...], int] = {}

    def tops(self, info: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The node itself, or the children of a wrapper."""
        if not _WRAPPERS.match(info["nodeName"]):
            yield info
            return
        for child in info["children"]:
            yield from self.tops(child)

    def add(self, info: Mapping[str, Any]) -> int:
        """The id of the node; a `ReusedExchange` is the exchange that it stands for."""
        key = tuple(metric["accumulatorId"] for metric in info["metrics"])
        if key and key in self._known:
            return self._known[key]
        at = self._known[key] = len(self.nodes)
        self.nodes.append(_node(at, info, self._values))
        for below in (top for child in info["children"] for top in self.tops(child)):
            self.edges.append(PlanEdge(self.add(below), at))
        return at


def _node(at: int, info: Mapping[str, Any], values: Mapping[int, float]) -> PlanNode:
    detail = info["simpleString"]
    state = _STATE.search(detail)
    metrics = _metrics(info["metrics"], values)
    return PlanNode(at, info["nodeName"].strip(), detail[:DETAIL_CHARS], int(state[1]) if state else None, metrics)


def _metrics(raw_metrics: Sequence[Mapping[str, Any]], values: Mapping[int, float]) -> tuple[Metric, ...]:
    """The metrics by name. Of two with the same name (output rows of a stateful operator and of its Python) the greater counts."""
    metrics: dict[str, Metric] = {}
    for raw in raw_metrics:
        if raw["accumulatorId"] in values:
            metric = _metric(raw["name"], raw["metricType"], values[raw["accumulatorId"]])
            metrics[metric.name] = max(metric, metrics.get(metric.name, metric), key=lambda candidate: candidate.value)
    return tuple(sorted(metrics.values(), key=lambda metric: metric.name))


def _metric(name: str, kind: str, value: float) -> Metric:
    """Spark's types: times are ms or ns, an average is kept ten times as large (`SQLMetrics`)."""
    if kind in ("timing", "nsTiming"):
        return Metric(name, value if kind == "timing" else value / 1e6, "ms")
    if kind == "average":
        return Metric(name, value / 10, "")
    return Metric(name, value, "bytes" if kind == "size" else "rows" if re.search(r"\b(rows|records)\b", name) else "")


def main_metrics(node: PlanNode) -> tuple[Metric, ...]:
    """The metrics shown on a node: its output rows and, of a stateful node, its state rows."""
    by_name = {metric.name: metric for metric in node.metrics}
    rows_out = next((by_name[name] for name in (OUTPUT_ROWS, SHUFFLED_ROWS) if name in by_name), None)
    state_rows = by_name.get(STATE_ROWS)
    return tuple(metric for metric in (rows_out, state_rows) if metric is not None)
