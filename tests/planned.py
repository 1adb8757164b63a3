"""A difference of plans as the workspace in memory (`tests.faces`) answers it: a sum became a count, and a query is new."""

from __future__ import annotations

from pipelines.domain.plan_differences import PlanDifference
from pipelines.domain.verdicts import Fact, OperatorPair, OperatorPlan, Outcome, Part
from tests import samples

SUM, COUNT = "sum(v) AS total", "count(v) < 3 AS total"
NEW_QUERY = "late"


def difference() -> PlanDifference:
    """Of a query with one aggregation, whose key stays."""
    reason = f"computes: {SUM} before, {COUNT} now"
    part = Part(samples.QUERY, 0, "stateStoreSave", Outcome.CHANGED_MEANING, (reason,), "Fork if that is meant.")
    was, now = (OperatorPlan(0, "stateStoreSave", (Fact("computes", text), Fact("by", "post"))) for text in (SUM, COUNT))
    pairs = (OperatorPair(samples.QUERY, was, now), OperatorPair(NEW_QUERY, None, OperatorPlan(0, "dedupe")))
    return PlanDifference(Outcome.CHANGED_MEANING, (part,), pairs, (NEW_QUERY,), ("rand()",), "4.3.0", 900.0)
