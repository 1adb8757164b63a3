"""Decisions on a variant: finds and drops it, takes a drop back, and records decisions in the experiment.

A drop: (1) the variant is stopped where it runs, (2) the mark is written. An undrop: (1) the mark goes, (2) the variant is resumed.
A crash in between leaves a variant that is stopped and not marked: `drop` marks it, `resume` goes on with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipelines.catalog import experiments as experiment_rows
from pipelines.domain.decisions import Choice, Decision, Does, DropPlan, Step, UndropPlan
from pipelines.domain.errors import GROUPS, Conflict, TidemarkError
from pipelines.domain.experiments import Experiment
from pipelines.domain.ids import ExperimentId, JobName, RunId, SavepointId
from pipelines.domain.jobs import Origin, Run
from pipelines.domain.operations import OperationState, sound
from pipelines.domain.versions import Version
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.resume import Resume
from pipelines.verbs.stop import Stop
from pipelines.workspace import events, operations, resumes, runs, savepoints, stops, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.tickets import Cancelled, Ticket

PAUSE_S = 0.1


@dataclass(frozen=True)
class Variant:
    """A fork without a decision: its origin, its newest run and version, and the experiment's decisions on others."""

    job: JobName
    origin: Origin
    run: Run
    version: Version
    others: tuple[Decision, ...]

    @property
    def parent(self) -> JobName:
        return self.origin.job


def variant(context: Context, job_text: str) -> Variant:
    """Raises NotFound (`job.not_found`) and Conflict (`decision.no_fork`, `decision.made`)."""
    name = runs.known(context, job_text)
    job, run = context.files.job(name), runs.newest(context, name)
    if job is None or job.origin is None or run is None:
        message = f"Job {name} is no fork: there is no parent that could go on with it"
        raise Conflict("decision.no_fork", message, "To change the code of a job, upgrade it.")
    experiment = context.files.experiment(job.origin.experiment) if job.origin.experiment else None
    decided = experiment.decisions if experiment else ()
    _refuse_decided(decided, name)
    return Variant(name, job.origin, run, versions.get(context, run.version), decided)


def _refuse_decided(decisions: Iterable[Decision], name: JobName) -> None:
    earlier = next((decision for decision in decisions if decision.job == name), None)
    if earlier is not None:
        raise Conflict("decision.made", f"The variant {name} was already {earlier.choice}", "Fork again to try something else.")


@plans(Drop)
def plan_drop(context: Context, change: Drop) -> Planned[str, DropPlan]:
    """Plans to stop the variant if it runs, then to record the drop. Raises what `variant` raises."""
    dropped = variant(context, change.job)
    plan = _plan(context, dropped, change)
    return Planned(plan, lambda ticket: _drop(context, dropped, change, plan, ticket))


def _plan(context: Context, dropped: Variant, change: Drop) -> DropPlan:
    live, remaining = dropped.run.state.goes_on, len(savepoints.newest_first(context, dropped.job))
    how = "at once, without a savepoint" if change.at_once else "at its next batch boundary"
    saved = ", with a savepoint" if change.savepoint and not change.at_once else ""
    ends = (Step(Does.STOP, f"{dropped.job} ends {how}{saved}."),) if live else ()
    marked = f"It is marked as dropped. Its output and its savepoints ({remaining}) stay; `undrop` takes it back, `forget` removes the job."
    return DropPlan(dropped.job, dropped.parent, dropped.origin.experiment, live, remaining, (*ends, Step(Does.RECORD, marked)))


def _drop(context: Context, dropped: Variant, change: Drop, plan: DropPlan, ticket: Ticket) -> str:
    ended: RunId | None = None
    savepoint: SavepointId | None = None
    for step in plan.steps:
        if step.does is Does.STOP:
            ticket.step(f"stopping {dropped.job}")
            run = runs.newest(context, dropped.job)
            ended = run.id if run is not None and run.state.goes_on else None
            stop = Stop(dropped.job, change.savepoint, change.at_once, f"{dropped.job} was dropped")
            savepoint = stopped(context, stop, ticket)
        else:
            _refuse_live(context, dropped.job)
            decision = Decision(dropped.job, Choice.DROPPED, context.now_ms(), dropped.parent, None, ended, savepoint)
            record(context, dropped, decision, f"{dropped.job} was dropped; its savepoints stay")
    return savepoint or ""


def _refuse_live(context: Context, job: JobName) -> None:
    """A variant that was resumed since the drop was planned is not marked while it runs."""
    run = runs.newest(context, job)
    if run is not None and run.state.goes_on:
        raise Conflict("decision.overtaken", f"{job} was begun again meanwhile", "See how it runs now, then drop it again.")


def stopped(context: Context, stop: Stop, ticket: Ticket) -> SavepointId | None:
    """Stops the job and waits; answers with the savepoint of the stop, None where there was nothing to save. Raises the error of a stop
    that failed."""
    newest = runs.newest(context, runs.known(context, stop.job))
    if newest is None or not newest.state.goes_on:
        return None
    operation = stops.plan(context, stop).do()
    while (current := operations.get(context, operation.id)).state is OperationState.RUNNING:
        ticket.check()
        time.sleep(PAUSE_S)
    if current.error_code in stops.NOTHING_TO_SAVE:
        return None
    return SavepointId(sound(current).result) if current.result or current.state is not OperationState.DONE else None


def as_it_was(context: Context, job: JobName, error: TidemarkError) -> TidemarkError:
    """The error, which says so, once the job goes on as it was; of one that has not stopped, or was begun again, nothing becomes."""
    newest = runs.newest(context, job)
    if newest is None or newest.state.goes_on:
        return error
    resumes.plan(context, Resume(job, force=True)).do(Ticket())
    if isinstance(error, Cancelled):
        return error
    message = f"{error.message.rstrip('.')}. {job} goes on as it was"
    return GROUPS.get(error.group, TidemarkError)(error.code, message, error.hint)


def record(context: Context, decided: Variant, decision: Decision, message: str) -> None:
    """Writes the decision: the experiment's file, the catalog, then the event. A fork outside of any experiment has the event alone.

    Raises Conflict (`decision.made`) where somebody else decided meanwhile.
    """
    keep(context, decided.origin.experiment, decision)
    events.say(context, f"job.{decision.choice}", decision.parent, decided.job, message)


def keep(context: Context, experiment_id: ExperimentId | None, decision: Decision) -> None:
    """Records it where there is an experiment, like `record`; a promotion that a server recorded which ended then stays recorded."""
    if experiment_id is None:
        return
    with context.claiming(f"experiment {experiment_id}"):
        experiment = context.files.experiment(experiment_id)
        if experiment is not None:
            others = tuple(made for made in experiment.decisions if not _is_same(made, decision))
            _refuse_decided(others, decision.job)
            _keep(context, replace(experiment, decisions=(*others, decision)))


def _is_same(made: Decision, decision: Decision) -> bool:
    """Two promotions begin no run together."""
    return made.choice is decision.choice is Choice.PROMOTED and (made.job, made.run) == (decision.job, decision.run)


def _keep(context: Context, experiment: Experiment) -> None:
    context.files.write(context.layout.experiment_file(experiment.id), experiment)
    with context.catalog.writing() as writer:
        experiment_rows.save(writer, [experiment])


@plans(Undrop)
def plan_undrop(context: Context, change: Undrop) -> Planned[UndropPlan, UndropPlan]:
    """Plans to remove the mark of the drop and to resume the variant if the drop ended its run. Where the resume fails it stays stopped.

    Raises NotFound (`job.not_found`: it was forgotten), Conflict (`decision.not_dropped`), and what the resume is refused for: nothing has
    changed then.
    """
    name = runs.known(context, change.job)
    experiment, mark = _dropped(context, name)
    plan = _undrop_plan(context, mark, experiment.id)
    if plan.resumes and (refusal := resumes.planned(context, _again(name)).plan.refusal) is not None:
        raise refusal.error
    return Planned(plan, lambda ticket: _undrop(context, plan, mark, ticket))


def _undrop(context: Context, plan: UndropPlan, mark: Decision, ticket: Ticket) -> UndropPlan:
    run: RunId | None = None
    for step in plan.steps:
        if step.does is Does.UNMARK:
            _unmark(context, plan)
            goes = ": it goes on where it was stopped" if plan.resumes else ""
            events.say(context, "job.undropped", mark.parent, plan.job, f"{plan.job} was undropped{goes}")
        elif step.does is Does.RESUME:
            run = resumes.plan(context, _again(plan.job)).do(ticket).id
    return replace(plan, run=run)


def _again(job: JobName) -> Resume:
    return Resume(job, force=True)


def _unmark(context: Context, plan: UndropPlan) -> None:
    with context.claiming(f"experiment {plan.experiment}"):
        experiment, mark = _dropped(context, plan.job)
        _keep(context, replace(experiment, decisions=tuple(decision for decision in experiment.decisions if decision != mark)))


def _dropped(context: Context, name: JobName) -> tuple[Experiment, Decision]:
    """The experiment that has the job marked as dropped, and the mark."""
    job = context.files.job(name)
    experiment_id = job.origin.experiment if job is not None and job.origin is not None else None
    experiment = context.files.experiment(experiment_id) if experiment_id is not None else None
    marks = [mark for mark in experiment.decisions if mark.job == name and mark.choice is Choice.DROPPED] if experiment else []
    if experiment is None or not marks:
        raise _not_dropped(name)
    return experiment, marks[0]


def _not_dropped(job: JobName) -> Conflict:
    return Conflict("decision.not_dropped", f"{job} is not marked as dropped in any experiment", f"If it does not run: `resume {job}`.")


def _undrop_plan(context: Context, mark: Decision, experiment: ExperimentId) -> UndropPlan:
    newest = runs.newest(context, mark.job)
    resumes_it = newest is not None and newest.id == mark.run and not newest.state.goes_on
    goes = f"{mark.job} is resumed where the drop stopped it, with its own checkpoint, query ids and output."
    stays = f"{mark.job} did not run when it was dropped, or was resumed since: it stays as it is."
    marked = Step(Does.UNMARK, "It is marked as dropped no more.")
    then = Step(Does.RESUME, goes) if resumes_it else Step(Does.LEAVE, stays)
    return UndropPlan(mark.job, experiment, resumes_it, (marked, then))
