"""Columns that an operator keeps, each taken apart alone, so that those of two codes can be matched whatever stands beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.domain.planned_columns import PlannedKey
from pipelines.domain.types import is_wider
from pipelines.driver.planning.doors import Doors
from pipelines.driver.planning.forms import Form, items
from pipelines.driver.planning.functions import digest
from pipelines.driver.planning.own import Own

EVENT_TIME = "spark.watermarkDelayMs"
"""The metadata of a column that has a watermark (EventTimeWatermark)."""


class Columns:
    """Takes the columns of one logical plan, whose rows an operator gets, apart."""

    def __init__(self, opened: Doors, spark: Any, plan: Any, sources: Mapping[tuple[int, ...], Any], own: Own) -> None:
        self._opened, self._jvm = opened, opened.jvm
        self._optimizer = spark._jsparkSession.sessionState().optimizer()
        self._rows = plan
        self._sources, self._folders = sources, own

    def one(self, column: Any) -> PlannedKey:
        """One column, as the query that puts out nothing else has it."""
        gaps: dict[str, None] = {}
        plan = self._optimizer.execute(self._project(self._alone(column), self._rows))
        whole = self._digest(plan, gaps)
        bare = self._without_cast(plan)
        narrow = whole if bare is None else self._digest(bare, gaps)
        kind, is_time = str(column.dataType().json()), bool(column.metadata().contains(EVENT_TIME))
        return PlannedKey(str(column.name()), whole, narrow, kind, is_time, tuple(gaps), bool(column.nullable()))

    def rows(self, gaps: dict[str, None]) -> str:
        """The digest of the rows, whatever columns they have; `gaps` gets what of them could not be compared whole."""
        return self._digest(self._optimizer.execute(self._project(None, self._rows)), gaps)

    def _alone(self, column: Any) -> Any:
        """The column under a name of its own. Its metadata is said: the optimizer says it of one that it moves, and not of another."""
        opened = self._opened
        metadata = self._jvm.scala.Some(column.metadata()) if _class(column) == "AttributeReference" else opened.none
        return opened.alias(column, "alone", opened.ids.newExprId(), opened.seq(), metadata, opened.seq())

    def _without_cast(self, plan: Any) -> Any:
        """The plan with the column as it was before it was cast to a wider type; None where it is not."""
        if _class(plan) != "Project":
            return None
        (named,) = items(plan.projectList())
        if _class(named) != "Alias":
            return None
        if _is_widening(named.child()):
            return self._optimized(named, named.child().child(), plan.child())
        below = self._below(named.child(), plan.child())
        return None if below is None else self._optimized(named, *below)

    def _below(self, column: Any, plan: Any) -> tuple[Any, Any] | None:
        """The column before it was cast below watermarks, which no projection passes, and the plan that has it; None where it was not."""
        if _class(plan) == "EventTimeWatermark":
            below = self._below(column, plan.child())
            return None if below is None else (below[0], plan.withNewChildren(self._opened.seq(below[1])))
        if _class(column) != "AttributeReference" or _class(plan) != "Project":
            return None
        columns = list(items(plan.projectList()))
        own = next(
            (expression for expression in columns if expression.exprId().equals(column.exprId()) and _class(expression) == "Alias"), None
        )
        if own is None or not _is_widening(own.child()):
            return None
        bare = own.child().child()
        if _class(bare) == "AttributeReference":
            return bare, self._of_columns([*columns, bare], plan.child())
        narrow = own.withNewChildren(self._opened.seq(bare))
        return narrow.toAttribute(), self._of_columns([narrow if expression is own else expression for expression in columns], plan.child())

    def _optimized(self, named: Any, child: Any, plan: Any) -> Any:
        return self._optimizer.execute(self._project(named.withNewChildren(self._opened.seq(child)), plan))

    def _project(self, named: Any, child: Any) -> Any:
        return self._of_columns([] if named is None else [named], child)

    def _of_columns(self, columns: Sequence[Any], child: Any) -> Any:
        return self._opened.project(self._opened.seq(*columns), child)

    def _digest(self, plan: Any, gaps: dict[str, None]) -> str:
        form = Form(self._jvm, self._sources, False, self._folders)
        told = digest(form.of(plan))
        gaps.update(form.reading.gaps)
        return told


def _class(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _is_widening(expression: Any) -> bool:
    """Whether it is a cast that loses nothing."""
    return _class(expression) == "Cast" and is_wider(str(expression.child().dataType().json()), str(expression.dataType().json()))
