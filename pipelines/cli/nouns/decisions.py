"""Decisions on variants, and what else stops a job that goes on then, as text."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.cli import output
from pipelines.cli.additions import shows
from pipelines.cli.descriptions import describes
from pipelines.cli.nouns.plans import restore_plan
from pipelines.cli.nouns.runs import tell_verdict
from pipelines.cli.nouns.stops import within
from pipelines.cli.session import Here
from pipelines.domain.decisions import DropPlan, PromotePlan, Step, UndropPlan
from pipelines.domain.operations import Operation
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.promote import Promote
from pipelines.verbs.rescale import Rescale, RescalePlan
from pipelines.verbs.upgrade import Upgrade, UpgradePlan
from pipelines.words import decisions, plans


@shows(Promote, timeout=within(600))
def _promoted(here: Here, change: Promote, done: Operation) -> None:
    here.session.tick()
    if change.check:
        tell_verdict(here, done.job, done.result)
    output.tell(decisions.promoted(change.job, done.job))


@shows(Drop, timeout=within(600))
def _dropped(here: Here, change: Drop, done: Operation) -> str:
    output.tell(f"{decisions.dropped(change.job)}; its savepoints stay, and `undrop {change.job}` takes it back")
    return ""


@shows(Undrop)
def _undropped(here: Here, change: Undrop, done: UndropPlan) -> str:
    output.tell(decisions.undropped(done))
    return done.run or ""


@shows(Rescale, timeout=within(600))
def _rescaled(here: Here, change: Rescale, done: Operation) -> None:
    here.session.tick()
    output.tell(decisions.rescaled(done.job, change.partitions))


@shows(Upgrade, timeout=within(600))
def _upgraded(here: Here, change: Upgrade, done: Operation) -> None:
    here.session.tick()
    if change.check:
        tell_verdict(here, done.job, done.result)
    output.tell(decisions.upgraded(done.job))


@describes(RescalePlan, UpgradePlan)
def rescale_text(plan: RescalePlan | UpgradePlan, now_ms: int) -> str:
    """The plan of a rescaling or an upgrade."""
    return "\n\n".join([_steps(plan.steps), restore_plan(plan.restore, now_ms)])


@describes(PromotePlan)
def promote_text(plan: PromotePlan, now_ms: int) -> str:
    """The plan of a promotion."""
    parts = [output.details([*plans.promote(plan), *(("warning", warning) for warning in plan.warnings)]), _steps(plan.steps)]
    return "\n\n".join([*parts, *([restore_plan(plan.restore, now_ms)] if plan.restore else [])])


@describes(DropPlan, UndropPlan)
def steps_text(plan: DropPlan | UndropPlan, now_ms: int) -> str:
    """The plan of a drop or an undrop."""
    return _steps(plan.steps)


def _steps(steps: Sequence[Step]) -> str:
    return "\n".join(f"{place}. {step.words}" for place, step in enumerate(steps, 1))
