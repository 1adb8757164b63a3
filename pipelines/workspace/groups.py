"""Several jobs stopped or resumed at once: each by itself, so that one that is refused or fails holds back no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from pipelines.domain.errors import Invalid, Refusal, TidemarkError, refusal
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.verbs.resume import JobsResume, Resume, ResumeJobs, ResumeOutcome
from pipelines.verbs.stop import JobsStop, Stop, StopJobs, StopOutcome, StopPlan
from pipelines.workspace import resumes, stops
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, Recorded, plans
from pipelines.workspace.tickets import Cancelled, Ticket

T = TypeVar("T")


@plans(StopJobs)
def plan_stops(context: Context, change: StopJobs) -> Planned[JobsStop, JobsStop]:
    """One outcome a job; Invalid (`jobs.nothing`) for none. The answer is there at once: the supervisor carries all stops out together."""
    planned = [
        _tried(partial(stops.plan, context, Stop(job, change.savepoint, change.at_once, change.label))) for job in _named(change.jobs)
    ]
    shown = JobsStop(tuple(map(_stop_outcome, _named(change.jobs), planned)))
    return Planned(shown, lambda _: JobsStop(tuple(map(_stopped, shown.outcomes, planned))))


def _stop_outcome(job: str, planned: Recorded[StopPlan] | Refusal) -> StopOutcome:
    return StopOutcome(job, None, planned) if isinstance(planned, Refusal) else StopOutcome(job, planned.plan)


def _stopped(outcome: StopOutcome, planned: Recorded[StopPlan] | Refusal) -> StopOutcome:
    if isinstance(planned, Refusal):
        return outcome
    begun = _tried(planned.do)
    return replace(outcome, refusal=begun) if isinstance(begun, Refusal) else replace(outcome, operation=begun)


@plans(ResumeJobs)
def plan_resumes(context: Context, change: ResumeJobs) -> Planned[JobsResume, JobsResume]:
    """One outcome a job; Invalid (`jobs.nothing`) for none. One that is cancelled leaves those resumed that had begun."""
    planned = [_tried(partial(resumes.plan, context, Resume(job, force=change.force))) for job in _named(change.jobs)]
    shown = JobsResume(tuple(map(_resume_outcome, _named(change.jobs), planned)))
    return Planned(shown, lambda ticket: _resume(shown, planned, ticket))


def _resume_outcome(job: str, planned: Planned[Run, RestorePlan] | Refusal) -> ResumeOutcome:
    return ResumeOutcome(job, None, planned) if isinstance(planned, Refusal) else ResumeOutcome(job, planned.plan, planned.plan.refusal)


def _resume(shown: JobsResume, planned: Sequence[Planned[Run, RestorePlan] | Refusal], ticket: Ticket) -> JobsResume:
    return JobsResume(tuple(_resumed(outcome, plan, ticket) for outcome, plan in zip(shown.outcomes, planned, strict=True)))


def _resumed(outcome: ResumeOutcome, planned: Planned[Run, RestorePlan] | Refusal, ticket: Ticket) -> ResumeOutcome:
    if isinstance(planned, Refusal) or outcome.refusal is not None:
        return outcome
    ticket.check()
    begun = _tried(partial(planned.do, ticket))
    return replace(outcome, refusal=begun) if isinstance(begun, Refusal) else replace(outcome, run=begun)


def _named(jobs: Sequence[str]) -> list[str]:
    if not jobs:
        raise Invalid("jobs.nothing", "No job was named", "Name one or more.")
    return list(dict.fromkeys(jobs))


def _tried(does: Callable[[], T]) -> T | Refusal:
    """What `does` returns, or the refusal that it raised; Cancelled ends all."""
    try:
        return does()
    except Cancelled:
        raise
    except TidemarkError as error:
        return refusal(error)
