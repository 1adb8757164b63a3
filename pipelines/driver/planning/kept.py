"""What the columns of an aggregation's state hold, in the words of the code: Spark calls them `sum`, `sum` and `count`."""

from __future__ import annotations

from typing import Any

from pipelines.driver.planning.aggregates import within
from pipelines.driver.planning.facts import sql, stateful
from pipelines.driver.planning.forms import items


def of_operators(nodes: list[Any], analyzed: Any) -> list[tuple[str, ...]]:
    """Those of each of the stateful operators `nodes` of the plan of `analyzed`; none of one that is no aggregation."""
    logical = stateful(analyzed)
    return [_words(*pair) for pair in zip(nodes, logical, strict=True)] if len(logical) == len(nodes) else [()] * len(nodes)


def _words(save: Any, logical: Any) -> tuple[str, ...]:
    """A text for each column of the buffers of `save`, in the order of its state, where they come last: `sum(n) AS views`, and
    `avg(n) AS mean, count` of an aggregate that keeps several. `logical` is the aggregation in the analyzed plan. None where one of its
    aggregates is not there."""
    if logical.getClass().getSimpleName() != "Aggregate":
        return ()
    called = {id: _called(named, one) for named in items(logical.aggregateExpressions()) for id, one in within(named)}
    told = list[str]()
    for expression in items(save.child().aggregateExpressions()):
        text = called.get(int(expression.resultId().id()))
        if text is None:
            return ()
        columns = [str(column.name()) for column in items(expression.aggregateFunction().inputAggBufferAttributes())]
        told += [text] if len(columns) == 1 else [f"{text}, {column}" for column in columns]
    return tuple(told)


def _called(named: Any, aggregate: Any) -> str:
    """`sum(n) AS views` where the code calls the aggregate so; the aggregate alone where more is made of it, or Spark made the name."""
    text = sql(aggregate)
    alone = named.getClass().getSimpleName() == "Alias" and named.child().fastEquals(aggregate)
    return text if not alone or str(named.name()) == text else f"{text} AS {named.name()}"
