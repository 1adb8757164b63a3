"""Plans of two points' code: Spark plans both in the sandbox, on no state, and the judge compares them operator by operator."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipelines.domain import doubts, plan_differences
from pipelines.domain.errors import Corrupt, Incompatible, Unavailable
from pipelines.domain.ids import content_id, folder_of
from pipelines.domain.installed import Installed
from pipelines.domain.plan_differences import Kept, PlanDifference
from pipelines.domain.plannings import CONTRACT, NEW, OLD, Planning, PlanTask
from pipelines.domain.points import Point
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.versions import Version
from pipelines.sandbox import installed
from pipelines.verbs.plan_difference import ComparePlans, PlanDifferencePlan
from pipelines.workspace import environments, plannings, points, rehearsals, verdicts, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.tickets import Ticket

NOT_PLANNABLE = "Give it its code, or compare what stands on the same interpreter and packages."


@dataclass(frozen=True)
class KeptPlans:
    """A difference of plans, with all that it rests on besides the two versions."""

    difference: PlanDifference
    stood_on: tuple[Installed | None, Installed | None]
    judge: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Files of this machine -> SHA-256."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """As `Installed.variables`."""


@plans(ComparePlans)
def plan(context: Context, change: ComparePlans) -> Planned[PlanDifference, PlanDifferencePlan]:
    """Raises what finding a point does, and Incompatible (`plans.no_code`) for one without code."""
    a, b = points.point(context, change.a), points.point(context, change.b)
    for point in (a, b):
        if not point.version.code:
            message = f"{point.named} is of a job that was attached without its code: there is nothing to plan"
            raise Incompatible("plans.no_code", message, "Name a version, or a job that has its code.")
    difference = known(context, a, b)
    plan = PlanDifferencePlan(a.version.id, b.version.id, b.job, difference is None)
    return Planned(plan, lambda ticket: difference or _compared(context, a, b, ticket))


def known(context: Context, a: Point, b: Point) -> PlanDifference | None:
    """The difference that was found before and still holds; None where Spark has to plan. No Spark is started."""
    try:
        kept = context.files.find(KeptPlans, context.layout.verdict(_key(a, b)))
        if kept is None or kept.judge != verdicts.judge() or kept.stood_on != _stood_on(context, a.version, b.version):
            return None
    except (Corrupt, Unavailable):  # it can be found again, and what is missing is said then
        return None
    return kept.difference if verdicts.are_same(kept.files, kept.variables) else None


def _compared(context: Context, a: Point, b: Point, ticket: Ticket) -> PlanDifference:
    """1. Spark plans both, on the runtime of B; 2. the judge compares; 3. that is kept, where it lasts. Nothing else is left."""
    began, folder = time.monotonic(), context.layout.sandbox_folder(ticket.operation)
    versions = [environments.make(context, point.version, ticket) for point in (a, b)]
    stood_on = _stood_on(context, *versions)
    unplannable = doubts.unplannable(*versions, is_noted=stood_on[0] is not None)
    if unplannable:
        raise Incompatible("plans.failed", f"The code of A cannot be planned beside that of B: {unplannable}", NOT_PLANNABLE)
    with verifications.turn(context, ticket):
        folder.mkdir(parents=True)
        try:
            planning = _planning(context, (replace(a, version=versions[0]), replace(b, version=versions[1])), folder, ticket)  # 1
            kept = {query.query: _kept(folder, query.query) for query in planning.side(OLD).queries}
            difference = plan_differences.difference(planning, kept, stood_on[0], tuple(doubts.of(*versions)))  # 2
        finally:
            shutil.rmtree(folder)
    difference = replace(difference, took_ms=(time.monotonic() - began) * 1000)
    if planning.is_lasting:
        kept_plans = KeptPlans(difference, stood_on, verdicts.judge(), planning.files, planning.variables)
        context.files.write(context.layout.verdict(_key(a, b)), kept_plans)  # 3
        verdicts.bound(context)
    return difference


def _planning(context: Context, both: tuple[Point, Point], folder: Path, ticket: Ticket) -> Planning:
    ticket.step("planning")
    specs = {side: _spec(context, point, folder / side) for side, point in zip((OLD, NEW), both, strict=True)}
    runtime = environments.entered(context, both[1].version).runtime
    task = PlanTask((NEW, OLD), (), takes_apart=True)
    return plannings.asked(context, folder, task, specs, runtime, ticket)


def _spec(context: Context, point: Point, folder: Path) -> RunSpec:
    """A run of the point's code without state, that knows its queries by the names which they have."""
    folder.mkdir()
    images = [query.image for query in point.queries or ()]
    return replace(
        rehearsals.beginning_spec(context, point.job, point.version, folder, str(folder / "checkpoints")),
        expected=tuple(image.query for image in images),
        locations={image.query: image.location for image in images},
    )


def _kept(folder: Path, query: str) -> Kept:
    old, new = (plannings.contract(folder / side / CONTRACT / folder_of(query), 0) for side in (OLD, NEW))
    return Kept(old, new)


def _stood_on(context: Context, a: Version, b: Version) -> tuple[Installed | None, Installed | None]:
    """What both versions stand on now; None where an environment has to be made first, or an interpreter does not answer."""
    first, second = (
        None if environments.is_missing(context, version) else installed.of(environments.entered(context, version).runtime)
        for version in (a, b)
    )
    return first, second


def _key(a: Point, b: Point) -> str:
    names = [[query.image.query for query in point.queries or ()] for point in (a, b)]
    return content_id("verdict", {"plans": [a.version.id, b.version.id], "queries": names})
