"""The columns that a deduplication tells rows apart by, each taken apart alone, so that those of two codes can be matched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.plannings import PlannedKey
from pipelines.domain.types import is_wider
from pipelines.driver.planning.aggregates import CATALYST
from pipelines.driver.planning.doors import Doors
from pipelines.driver.planning.forms import Form, items
from pipelines.driver.planning.functions import digest

NODES = {"Deduplicate", "DeduplicateWithinWatermark"}
EVENT_TIME = "spark.watermarkDelayMs"
"""The metadata of a column that has a watermark (EventTimeWatermark)."""


def of(opened: Doors, spark: Any, logical: Any, sources: Mapping[tuple[int, ...], Any], version: str) -> tuple[PlannedKey, ...]:
    """The key's columns in the order of the state; `logical` is the deduplication in the analyzed plan. None where they cannot be told
    apart."""
    from py4j.protocol import Py4JError

    if logical.getClass().getSimpleName() not in NODES:
        return ()
    try:
        return tuple(Deduplication(opened, spark, logical, sources, version).key(column) for column in items(logical.keys()))
    except Py4JError:
        return ()


class Deduplication:
    """Takes the key of one analyzed deduplication apart."""

    def __init__(self, opened: Doors, spark: Any, logical: Any, sources: Mapping[tuple[int, ...], Any], version: str) -> None:
        self._opened, self._jvm = opened, opened.jvm
        self._optimizer = spark._jsparkSession.sessionState().optimizer()
        self._logical = logical
        self._sources, self._version = sources, version

    def key(self, column: Any) -> PlannedKey:
        """One column, as the query that puts out nothing else has it."""
        gaps: dict[str, None] = {}
        plan = self._optimizer.execute(self._project(self._alone(column), self._logical.child()))
        whole = self._digest(plan, gaps)
        bare = self._without_cast(plan)
        narrow = whole if bare is None else self._digest(bare, gaps)
        kind, is_time = str(column.dataType().json()), bool(column.metadata().contains(EVENT_TIME))
        return PlannedKey(str(column.name()), whole, narrow, kind, is_time, tuple(gaps))

    def _alone(self, column: Any) -> Any:
        ids = self._opened.object(f"{CATALYST}.NamedExpression")
        none = self._jvm.scala.Option.empty()
        return self._jvm.org.apache.spark.sql.catalyst.expressions.Alias(column, "alone", ids.newExprId(), self._seq(), none, self._seq())

    def _without_cast(self, plan: Any) -> Any:
        """The plan with the column as it was before it was cast to a wider type; None where it is not."""
        if plan.getClass().getSimpleName() != "Project":
            return None
        (named,) = items(plan.projectList())
        cast = named.child() if named.getClass().getSimpleName() == "Alias" else None
        if cast is None or cast.getClass().getSimpleName() != "Cast":
            return None
        if not is_wider(str(cast.child().dataType().json()), str(cast.dataType().json())):
            return None
        return self._optimizer.execute(self._project(named.withNewChildren(self._seq(cast.child())), plan.child()))

    def _project(self, named: Any, child: Any) -> Any:
        return self._jvm.org.apache.spark.sql.catalyst.plans.logical.Project(self._seq(named), child)

    def _digest(self, plan: Any, gaps: dict[str, None]) -> str:
        form = Form(self._jvm, self._sources, False, self._version)
        told = digest(form.of(plan))
        gaps.update(form.reading.gaps)
        return told

    def _seq(self, *parts: Any) -> Any:
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(parts))
