"""The aggregates of an aggregation, each taken apart alone, so that those of two codes can be matched whatever stands beside them.

Each is planned as the only aggregate of its query: Spark's optimizer prunes what it does not read, so that columns which other aggregates
need are no difference. Its columns of state are those of its buffer, in the order of the physical plan (StreamingAggregationStateManager).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.domain.planned_columns import PlannedAggregate
from pipelines.domain.types import is_wider
from pipelines.driver.planning.doors import CATALYST, Doors
from pipelines.driver.planning.facts import sql
from pipelines.driver.planning.forms import Form, items
from pipelines.driver.planning.functions import digest
from pipelines.driver.planning.own import Own

SESSION = "spark.sessionWindow"
COMMUTE = {"Max", "Min", "First", "Last", "Sum", "Average", "Count"}
"""Functions whose result over cast values is the cast result, where the cast is exact."""


def of(
    opened: Doors, spark: Any, logical: Any, save: Any, sources: Mapping[tuple[int, ...], Any], own: Own
) -> tuple[PlannedAggregate, ...]:
    """The aggregates whose state `save` keeps, in its order; `logical` is the aggregation in the analyzed plan. None where they cannot be
    told apart."""
    from py4j.protocol import Py4JError

    if logical.getClass().getSimpleName() != "Aggregate":
        return ()
    try:
        return Aggregation(opened, spark, logical, sources, own).of(save)
    except Py4JError:
        return ()


class Aggregation:
    """Takes the aggregates of one analyzed aggregation apart."""

    def __init__(self, opened: Doors, spark: Any, logical: Any, sources: Mapping[tuple[int, ...], Any], own: Own) -> None:
        self._opened, self._jvm = opened, opened.jvm
        self._optimizer = spark._jsparkSession.sessionState().optimizer()
        self._logical = logical
        self._keys = sorted(items(logical.groupingExpressions()), key=_is_session)
        """What it is grouped by, a session last: wherever the code names it, that is where its state has it."""
        self._sources, self._folders = sources, own
        self._analyzed = dict(self._expressions())

    def of(self, save: Any) -> tuple[PlannedAggregate, ...]:
        """Those whose state `save` keeps, in its order; none where one of them is not in the analyzed plan as it is."""
        kept = list(items(save.child().aggregateExpressions()))
        planned = [(expression, self._analyzed.get(int(expression.resultId().id()))) for expression in kept]
        if any(analyzed is None for _, analyzed in planned):
            return ()
        return tuple(self._one(expression.aggregateFunction(), analyzed) for expression, analyzed in planned)

    def _expressions(self) -> Iterator[tuple[int, Any]]:
        for named in items(self._logical.aggregateExpressions()):
            yield from within(named)

    def _one(self, function: Any, analyzed: Any) -> PlannedAggregate:
        gaps: dict[str, None] = {}
        whole = self._digest(analyzed, gaps)
        bare = _without_cast(analyzed, self._opened.seq)
        columns = tuple(str(column.dataType().json()) for column in items(function.inputAggBufferAttributes()))
        narrow = whole if bare is None else self._digest(bare, gaps)
        return PlannedAggregate(sql(analyzed), whole, narrow, columns, self._initial(function), tuple(gaps), self._own(analyzed))

    def _own(self, aggregate: Any) -> str:
        """Of the aggregate and what it is grouped by, with the names of their columns, whatever is computed below."""
        form = Form(self._jvm, self._sources, True, self._folders)
        return digest([*map(form.of, self._keys), form.of(aggregate)])

    def _digest(self, aggregate: Any, gaps: dict[str, None]) -> str:
        """Of the query that has this aggregate alone."""
        opened = self._opened
        named = opened.alias(aggregate, "alone", opened.ids.newExprId(), opened.seq(), opened.none, opened.seq())
        alone = opened.aggregate(opened.seq(*self._keys), opened.seq(named), self._logical.child(), opened.none)
        form = Form(self._jvm, self._sources, False, self._folders)
        told = digest(form.of(self._optimizer.execute(alone)))
        gaps.update(form.reading.gaps)
        return told

    def _initial(self, function: Any) -> tuple[str, ...]:
        declarative, typed = (
            self._opened.of(f"{CATALYST}.aggregate.{name}") for name in ("DeclarativeAggregate", "TypedImperativeAggregate")
        )
        if declarative.isInstance(function):
            return tuple(str(value.sql()) for value in items(function.initialValues()))
        if typed.isInstance(function):
            return (f"X'{bytes(function.serialize(function.createAggregationBuffer())).hex()}'",)
        return ()


def _is_session(key: Any) -> bool:
    """Whether it is the column that Spark made of `session_window` (SessionWindow.marker)."""
    return key.getClass().getSimpleName() == "AttributeReference" and bool(key.metadata().contains(SESSION))


def within(expression: Any) -> Iterator[tuple[int, Any]]:
    """The aggregates of an expression by the ids of their results."""
    if expression.getClass().getSimpleName() == "AggregateExpression":
        yield int(expression.resultId().id()), expression
        return
    for child in items(expression.children()):
        yield from within(child)


def _without_cast(aggregate: Any, seq: Any) -> Any:
    """The aggregate over the argument that is cast to a wider type in it; None where there is no such cast, or it could matter."""
    function = aggregate.aggregateFunction()
    arguments = list(items(function.children()))
    if function.getClass().getSimpleName() not in COMMUTE or len(arguments) != 1:
        return None
    (cast,) = arguments
    if cast.getClass().getSimpleName() != "Cast" or not is_wider(str(cast.child().dataType().json()), str(cast.dataType().json())):
        return None
    bare = function.withNewChildren(seq(cast.child()))
    return aggregate.withNewChildren(seq(bare, *list(items(aggregate.children()))[1:]))
