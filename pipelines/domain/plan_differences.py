"""The plans of two points' code, operator by operator: the verdict on state that the code of A keeps, if the code of B went on with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain import judging, verdicts
from pipelines.domain.bounds import Took
from pipelines.domain.contracts import Contract
from pipelines.domain.errors import Incompatible, Unsupported
from pipelines.domain.ids import QueryName
from pipelines.domain.installed import Installed
from pipelines.domain.judging import Known
from pipelines.domain.plannings import NEW, OLD, Planned, PlannedQuery, Planning
from pipelines.domain.savepoints import NOT_BEGUN, QueryImage, SourceOffset
from pipelines.domain.verdicts import OperatorPair, OperatorPlan, Outcome, Part

LETTERS = {OLD: "A", NEW: "B"}


@dataclass(frozen=True)
class PlanDifference:
    """What both codes compute, operator by operator, and what the verdict on state of A's would be under B's."""

    outcome: Outcome
    parts: tuple[Part, ...]
    operators: tuple[OperatorPair, ...]
    """The operator of A beside the one of B that would go on with its state; one of them alone has none."""
    new_queries: tuple[str, ...] = ()
    """Queries that B's code alone starts."""
    varies: tuple[str, ...] = ()
    """What of B's depends on the clock or on chance."""
    spark_version: str = ""
    """The Spark that planned both."""
    took_ms: Took = 0.0


@dataclass(frozen=True)
class Kept:
    """What both codes would keep of a query as state, planned on nothing."""

    a: Contract
    b: Contract


def difference(planning: Planning, kept: Mapping[str, Kept], installed: Installed | None, doubts: tuple[str, ...]) -> PlanDifference:
    """The judge's words on every query. `kept` has a contract of each, `installed` is what A's code stands on.

    Raises Unsupported (`plans.unsupported`) and Incompatible (`plans.failed`, `plans.no_query`) for code that cannot be planned."""
    old, new = _sides(planning)
    known = [_known(query, kept[query.query], installed, doubts) for query in old.queries]
    added = [query for query in new.queries if old.find(query.query) is None]
    parts = tuple(part for query in known for part in judging.judge(query, planning))
    pairs = tuple(pair for query in known for pair in judging.pairs(query, planning))
    begun = tuple(OperatorPair(query.query, None, plan) for query in added for plan in _plans(query))
    varies = tuple(dict.fromkeys(word for query in new.queries for word in query.varies))
    names = tuple(query.query for query in added)
    return PlanDifference(verdicts.worst(part.outcome for part in parts), parts, (*pairs, *begun), names, varies, planning.spark_version)


def _sides(planning: Planning) -> tuple[Planned, Planned]:
    if planning.unsupported:
        raise Unsupported("plans.unsupported", f"{planning.unsupported}: nothing is guessed", "Use a Spark whose plans are known.")
    old, new = (_planned(planning, side) for side in (OLD, NEW))
    return old, new


def _planned(planning: Planning, side: str) -> Planned:
    planned, letter = planning.side(side), LETTERS[side]
    hint = "Correct the code, or compare a version that starts."
    for failure in filter(None, (planned.failure, *(query.failure for query in planned.queries))):
        raise Incompatible("plans.failed", f"The code of {letter} cannot be planned: {failure.error_class}: {failure.message}", hint)
    if not planned.queries:
        raise Incompatible("plans.no_query", f"The code of {letter} starts no streaming query", hint)
    return planned


def _known(query: PlannedQuery, kept: Kept, installed: Installed | None, doubts: tuple[str, ...]) -> Known:
    spark = installed.packages.get("pyspark", "") if installed is not None else ""
    return Known(_image(query), kept.a, kept.a, kept.b, installed, spark, doubts)


def _image(query: PlannedQuery) -> QueryImage:
    """A query that has read nothing yet, of the sources that its code names."""
    offsets = tuple(SourceOffset(source.name or str(at), "null") for at, source in enumerate(query.sources))
    kinds = tuple(source.kind for source in query.sources)
    return QueryImage(QueryName(query.query), "", NOT_BEGUN, 0, 0, offsets, "none", 0, (), {}, "", "", 0, 0, sources=kinds)


def _plans(query: PlannedQuery) -> list[OperatorPlan]:
    return [judging.plan_of(operator.id, operator.name, operator) for operator in query.operators]
