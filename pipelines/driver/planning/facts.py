"""What a streaming frame computes, in words: never compared, only shown beside a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipelines.driver import secret_values
from pipelines.driver.planning.forms import items

STATEFUL = {
    "Aggregate": "an aggregation",
    "Deduplicate": "a deduplication",
    "DeduplicateWithinWatermark": "a deduplication within the watermark",
    "Distinct": "a deduplication",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "GlobalLimit": "a limit",
    "Join": "a join",
    "TransformWithStateInPySpark": "transformWithState",
}
"""Spark's nodes of stateful operators, in words."""
WATERMARK = "EventTimeWatermark"
OF_SPARK = "__"
"""So begin the names that Spark gives to subqueries without one."""
SEED = re.compile(r"\b(rand|randn|shuffle|uuid)\(-?\d+L?\)")
"""What Spark draws anew for each batch, with the number that it began with."""
MOST_CHARS = 300


def of_operators(plan: Any, count: int) -> list[tuple[tuple[str, str], ...]]:
    """The facts of each of `count` stateful operators of an analyzed plan, as Spark numbers them: from the sink down."""
    nodes = stateful(plan)
    if len(nodes) != count:
        return [tuple(dict.fromkeys(fact for node in _below(plan) for fact in _facts(node)))] * count
    watermarks = list(filter(_is_watermark, _below(plan)))
    return [tuple(dict.fromkeys([*_facts_of(node), *_beside(node, watermarks)])) for node in nodes]


def _facts_of(node: Any) -> Iterator[tuple[str, str]]:
    """Of a stateful node, and of what is below it as far as the next ones, which are said in short; but of watermarks all below it, as its
    state goes by them wherever they stand."""
    yield from _facts(node)
    yield from (fact for inner in _stateless(node) for fact in _facts(inner))
    yield from (("takes the rows of", _short(other)) for inner in (node, *_stateless(node)) for other in _stateful_children(inner))
    yield from (fact for inner in _below(node) if _is_watermark(inner) for fact in _facts(inner))


def _short(node: Any) -> str:
    told = "; ".join(f"{what} {text}" for what, text in _facts(node))
    name = STATEFUL[node.getClass().getSimpleName()]
    return _cut(f"{name}: {told}" if told else name)


def _stateful_children(node: Any) -> Iterator[Any]:
    return (child for child in items(node.children()) if _is_stateful(child))


def _is_watermark(node: Any) -> bool:
    return bool(node.getClass().getSimpleName() == WATERMARK)


def _beside(node: Any, watermarks: list[Any]) -> Iterator[tuple[str, str]]:
    """Facts of the watermarks that are not below `node`."""
    below = list(filter(_is_watermark, _below(node))) if watermarks else []
    for other in watermarks:
        if other not in below:
            yield from ((f"{what} beside it", text) for what, text in _facts(other))


def stateful(plan: Any) -> list[Any]:
    """The stateful nodes of an analyzed plan, from the sink down."""
    return [node for node in _below(plan) if _is_stateful(node)]


def names_of(plan: Any, count: int) -> list[str]:
    """What the code calls each of `count` stateful operators (`df.alias`, a view, a subquery's name): the nearest name above it with no
    other operator between. Names are in the analyzed plan alone: the optimizer takes them away (measured with Spark 4.3). Empty where
    there is none."""
    names = list(_names(plan, ""))
    return names if len(names) == count else [""] * count


def _names(node: Any, name: str) -> Iterator[str]:
    if node.getClass().getSimpleName() == "SubqueryAlias":
        called = str(node.alias())
        name = name if called.startswith(OF_SPARK) else called
    children = list(items(node.children()))
    if _is_stateful(node):
        yield name
        name = ""
    for child in children:
        yield from _names(child, name if len(children) == 1 else "")


def _is_stateful(node: Any) -> bool:
    name = node.getClass().getSimpleName()
    if name == "Join":
        return bool(node.left().isStreaming() and node.right().isStreaming())
    return name in STATEFUL and bool(node.isStreaming())


def _below(node: Any) -> Iterator[Any]:
    yield node
    for child in items(node.children()):
        yield from _below(child)


def _stateless(node: Any) -> Iterator[Any]:
    """The nodes below `node` as far as the next stateful ones."""
    for child in items(node.children()):
        if not _is_stateful(child):
            yield child
            yield from _stateless(child)


def _facts(node: Any) -> Iterator[tuple[str, str]]:
    match node.getClass().getSimpleName():
        case "Aggregate":
            keys = [sql(key) for key in items(node.groupingExpressions())]
            computed = (sql(part) for part in items(node.aggregateExpressions()))
            yield from (("computes", text) for text in computed if text not in keys)
            yield "by", ", ".join(keys)
        case "Filter":
            yield "keeps rows where", sql(node.condition())
        case "EventTimeWatermark":
            yield "watermark", f"{sql(node.eventTime())}, {node.delay().toString()}"
        case "Join":
            condition = node.condition()
            yield "joins", f"{node.joinType().sql().lower()} on {sql(condition.get()) if condition.isDefined() else 'everything'}"
        case "Deduplicate" | "DeduplicateWithinWatermark":
            yield "tells apart by", ", ".join(sql(key) for key in items(node.keys()))
        case "Project":
            yield from (("reads", text) for part in items(node.projectList()) if (text := _window(part)))
            yield from (("reads", text) for part in items(node.projectList()) if " AS " in (text := sql(part)) and not _window(part))


def sql(expression: Any) -> str:
    return _cut(secret_values.shown(SEED.sub(r"\1()", str(expression.sql()).replace("`", ""))))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"


def _window(expression: Any) -> str:
    """A window of event time, which Spark writes out as arithmetic on microseconds."""
    text = str(expression.sql())
    if "knownnullable" not in text.lower() and "precisetimestampconversion" not in text.lower():
        return ""
    lengths = [int(number) // 1000 for number in re.findall(r"\b([0-9]{6,})L?\b", text)]
    return f"a window of {max(lengths) / 1000:g} s" if lengths else ""
