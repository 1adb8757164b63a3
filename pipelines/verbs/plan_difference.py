"""`diff --plans`: what the code of two points computes, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, VersionId
from pipelines.domain.plan_differences import PlanDifference
from pipelines.verbs.experiments import POINT
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, Kind, Works, argument


@dataclass(frozen=True)
class PlanDifferencePlan:
    """What a comparison of plans will do."""

    a: VersionId
    b: VersionId
    job: JobName
    """Of B; empty for a version alone."""
    starts_spark: bool
    """Whether Spark has to plan: not where both were compared before, on what is installed now."""


@dataclass(frozen=True)
class ComparePlans(Change[PlanDifference, PlanDifferencePlan]):
    """Compare the plans of two points' code. Spark plans both in the sandbox, and runs nothing; the answer has their stateful operators
    side by side, and the verdict that state of A's code would get under B's. `differences` has it from then on."""

    a: str = argument(POINT, reads=Reads.SAVEPOINT)
    b: str = argument("Another point.", reads=Reads.SAVEPOINT)

    call, topic = "compare_plans", "versions"
    role = Role.OPERATOR
    http = Http("POST", "/differences/plans", 200)
    within = "diff"
    refuses = (NotFound, Incompatible, Corrupt, Unsupported, Unavailable)
    kinds = {
        "compare-plans": Kind("Comparing the plans of", "Compared the plans of", about="{subject}", outcome="{done} {about}: {result}")
    }

    def words(self) -> Sequence[str]:
        return "diff", self.a, self.b, "--plans"

    def works_as(self, plan: PlanDifferencePlan) -> Works | None:
        return Works("compare-plans", plan.job, f"{self.a} {self.b}") if plan.starts_spark else None

    def result(self, answer: PlanDifference) -> str:
        return answer.outcome
