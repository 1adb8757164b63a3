"""Several jobs stopped or resumed by one command: a line a job, and the first refusal's exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import typer

from pipelines.cli import output
from pipelines.cli.additions import Parameter, Shown, becomes, plans, shows
from pipelines.cli.descriptions import text
from pipelines.cli.nouns.runs import awaited
from pipelines.cli.session import Here
from pipelines.domain.errors import Refusal, TidemarkError, refusal
from pipelines.domain.operations import OperationState, sound
from pipelines.verbs.face import follow
from pipelines.verbs.resume import JobsResume, Resume, ResumeJobs, ResumeOutcome
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.stop import JobsStop, Stop, StopJobs, StopOutcome
from pipelines.verbs.verb import Change

AS_IT_WAS = "Several jobs are resumed as they were: name one to change its code, its arguments or where it goes on."


def _more(does: str) -> Parameter:
    return Parameter(list[str], typer.Argument(metavar="JOB...", help=f"More jobs, {does}.", show_default=False), None)


@becomes(Stop, more=_more("each stopped at its own batch boundary; one that is refused holds back no other"))
def _stops(here: Here, change: Stop) -> Change[Any, Any]:
    more = here.words["more"]
    return StopJobs((change.job, *more), change.savepoint, change.at_once, change.label) if more else change


@becomes(Resume, more=_more("resumed as they were; one that is refused holds back no other"))
def _resumes(here: Here, change: Resume) -> Change[Any, Any]:
    more = here.words["more"]
    if more and replace(change, check=True) != Resume(change.job, force=change.force):
        raise typer.BadParameter(AS_IT_WAS, param_hint="JOB...")
    return ResumeJobs((change.job, *more), change.force) if more else change


@plans(StopJobs)
@plans(ResumeJobs)
def _planned(here: Here, change: StopJobs | ResumeJobs, planned: JobsStop | JobsResume) -> Shown:
    return Shown(planned, "\n\n".join(_plan(outcome, here.session.now_ms) for outcome in planned.outcomes), _first(planned.outcomes))


def _plan(outcome: StopOutcome | ResumeOutcome, now_ms: int) -> str:
    refused = output.details([("job", outcome.job), ("refused", outcome.refusal.message)]) if outcome.refusal else ""
    return "\n".join(filter(None, (text(outcome.plan, now_ms) if outcome.plan else "", refused)))


@shows(StopJobs)
def _stopped(here: Here, change: StopJobs, begun: JobsStop) -> Shown:
    """Follows every stop to its end: `JOB PATH` for each savepoint."""
    end_ms = here.session.now_ms + here.words["timeout"] * 1_000
    ended = JobsStop(tuple(_ended(here, outcome, end_ms) for outcome in begun.outcomes))
    _tell(ended.outcomes, "cancelled" if change.at_once else "stopped")
    saved = [(outcome.job, outcome.operation.result) for outcome in ended.outcomes if outcome.operation and outcome.operation.result]
    lines = [f"{job} {here.face.ask(ShowSavepoint(savepoint)).path}" for job, savepoint in saved]
    return Shown(ended, "\n".join(lines), _first(ended.outcomes))


def _ended(here: Here, outcome: StopOutcome, end_ms: float) -> StopOutcome:
    """The outcome once its stop has ended; refused where that failed, or had not ended at `end_ms`."""
    begun = outcome.operation
    if begun is None:
        return outcome
    try:
        for current in follow(here.face, begun.id, here.session.pause):
            outcome = replace(outcome, operation=current)
            if current.state is OperationState.RUNNING:
                here.session.refuse_late(end_ms, here.words["timeout"], f"the {begun.kind} of {outcome.job}")
            else:
                sound(current)
    except TidemarkError as error:
        return replace(outcome, refusal=refusal(error))
    return outcome


@shows(ResumeJobs)
def _resumed(here: Here, change: ResumeJobs, begun: JobsResume) -> Shown:
    """`JOB RUN` for each that began, with `--wait` once it is up."""
    ended = JobsResume(tuple(_up(here, outcome) for outcome in begun.outcomes))
    _tell(ended.outcomes, "resumed")
    return Shown(ended, "\n".join(f"{outcome.job} {outcome.run.id}" for outcome in ended.outcomes if outcome.run), _first(ended.outcomes))


def _up(here: Here, outcome: ResumeOutcome) -> ResumeOutcome:
    try:
        return replace(outcome, run=awaited(here, outcome.run) if outcome.run else None)
    except TidemarkError as error:
        return replace(outcome, refusal=refusal(error))


def _tell(outcomes: tuple[StopOutcome, ...] | tuple[ResumeOutcome, ...], done: str) -> None:
    refused = [outcome for outcome in outcomes if outcome.refusal is not None]
    output.tell(f"{done} {len(outcomes) - len(refused):,} of {len(outcomes):,} jobs" if refused else f"{done} {len(outcomes):,} jobs")
    for outcome in refused:
        output.tell(f"{outcome.job}: {outcome.refusal.message if outcome.refusal else ''}")


def _first(outcomes: Iterable[StopOutcome | ResumeOutcome]) -> TidemarkError | None:
    refused: list[Refusal] = [outcome.refusal for outcome in outcomes if outcome.refusal is not None]
    return refused[0].error if refused else None
