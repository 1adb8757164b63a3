"""Decisions on a variant: what is a variant, how one is dropped, and how its experiment keeps what was decided.

A drop: (1) the variant is stopped where it runs, (2) the mark is written. An undrop: (1) the mark goes, (2) the variant is resumed.
A crash in between leaves a variant that is stopped and not marked: `drop` marks it, `resume` goes on with it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from pipelines.catalog import experiments as experiment_rows
from pipelines.domain.decisions import Choice, Decision, DropPlan, UndropPlan
from pipelines.domain.errors import GROUPS, Conflict, TidemarkError
from pipelines.domain.experiments import Experiment
from pipelines.domain.ids import ExperimentId, JobName, OperationId, RunId, SavepointId
from pipelines.domain.jobs import Origin, Run
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.requests import DropRequest, ResumeRequest, StopRequest, UndropRequest
from pipelines.domain.versions import Version
from pipelines.workspace import events, operations, resumes, runs, savepoints, stops, versions
from pipelines.workspace.context import Context
from pipelines.workspace.operations import Ticket

PAUSE_S = 0.1


@dataclass(frozen=True)
class Variant:
    """A fork that nothing was decided about yet: where it came from, its newest run and version, what its experiment decided of others."""

    job: JobName
    origin: Origin
    run: Run
    version: Version
    others: tuple[Decision, ...]

    @property
    def parent(self) -> JobName:
        return self.origin.job


def variant(context: Context, named: str) -> Variant:
    """Raises NotFound (`job.not_found`) and Conflict (`decision.no_fork`, `decision.made`)."""
    name = runs.known(context, named)
    job, run = context.files.job(name), runs.newest(context, name)
    if job is None or job.origin is None or run is None:
        message = f"Job {name} is no fork: there is no parent that could go on with it"
        raise Conflict("decision.no_fork", message, "A job takes other code when it is resumed with it.")
    experiment = context.files.experiment(job.origin.experiment) if job.origin.experiment else None
    decided = experiment.decisions if experiment else ()
    made = next((one for one in decided if one.job == name), None)
    if made is not None:
        raise Conflict("decision.made", f"That was decided already: {name} was {made.choice}", "Fork again to try something else.")
    return Variant(name, job.origin, run, versions.get(context, run.version), decided)


def drop(context: Context, job: str, request: DropRequest) -> Operation | DropPlan:
    """The variant stops, where it runs; then that is recorded. Raises what `variant` raises."""
    known = variant(context, job)
    if request.dry_run:
        return _plan(context, known, request)
    return begin(context, "drop", known.job, known, lambda ticket: _drop(context, known, request, ticket))


def begin(context: Context, kind: str, job: JobName, known: Variant, work: operations.Work) -> Operation:
    """An operation on `job` about the variant."""
    wanted = Operation(OperationId(context.new_id("o")), kind, job, OperationState.RUNNING, context.now_ms(), subject=known.job)
    return operations.begin(context, wanted, work)


def _plan(context: Context, known: Variant, request: DropRequest) -> DropPlan:
    live, kept = known.run.state.live, len(savepoints.newest_first(context, known.job))
    how = "at once, without a savepoint" if request.at_once else "at its next batch boundary"
    saved = ", with a savepoint" if request.savepoint and not request.at_once else ""
    ends = (f"{known.job} ends {how}{saved}.",) if live else ()
    marked = f"It is marked as dropped. Its output and its savepoints ({kept}) stay; `undrop` takes it back, `forget` removes the job."
    return DropPlan(known.job, known.parent, known.origin.experiment, live, kept, (*ends, marked))


def _drop(context: Context, known: Variant, request: DropRequest, ticket: Ticket) -> str:
    ticket.step(f"stopping {known.job}")
    run = runs.newest(context, known.job)
    ended = run.id if run is not None and run.state.live else None
    taken = stopped(context, known.job, StopRequest(request.savepoint, request.at_once, f"{known.job} was dropped"), ticket)
    decision = Decision(known.job, Choice.DROPPED, context.now_ms(), known.parent, None, ended, taken)
    record(context, known, decision, f"{known.job} was dropped; its savepoints stay")
    return taken or ""


def stopped(context: Context, job: JobName, request: StopRequest, ticket: Ticket) -> SavepointId | None:
    """Waits until `job` does not run; the savepoint of its stop. Raises the error of a stop that failed."""
    newest = runs.newest(context, job)
    if newest is None or not newest.state.live:
        return None
    asked = stops.stop(context, job, request)
    while (seen := operations.get(context, asked.id)).state is OperationState.RUNNING:
        ticket.check()
        time.sleep(PAUSE_S)
    if seen.state is not OperationState.DONE:
        raise GROUPS.get(seen.error_group, TidemarkError)(seen.error_code, seen.error_message, seen.error_hint)
    return SavepointId(seen.result) if seen.result else None


def record(context: Context, known: Variant, decision: Decision, message: str) -> None:
    """The experiment's file, then the catalog, then the event. A fork outside of any experiment has the event alone."""
    named = known.origin.experiment
    if named:
        with context.claiming(f"experiment {named}"):
            experiment = context.files.experiment(named)
            if experiment is not None:
                _keep(context, replace(experiment, decisions=(*experiment.decisions, decision)))
    events.say(context, f"job.{decision.choice}", decision.parent, known.job, message)


def _keep(context: Context, experiment: Experiment) -> None:
    context.files.write(context.layout.experiment_file(experiment.id), experiment)
    with context.catalog.writing() as writer:
        experiment_rows.save(writer, [experiment])


def undrop(context: Context, job: str, request: UndropRequest) -> UndropPlan:
    """The mark of the drop goes, and the variant is resumed where the drop ended it. What a resume raises leaves it stopped, without mark.

    Raises NotFound (`job.not_found`: it was forgotten), Conflict (`decision.not_dropped`).
    """
    name = runs.known(context, job)
    known = context.files.job(name)
    named = known.origin.experiment if known is not None and known.origin is not None else None
    if named is None:
        raise _not_dropped(name)
    with context.claiming(f"experiment {named}"):
        experiment = context.files.experiment(named)
        mark = _mark(experiment, name) if experiment is not None else None
        if experiment is None or mark is None:
            raise _not_dropped(name)
        plan = _undrop_plan(context, mark, experiment.id)
        if request.dry_run:
            return plan
        _keep(context, replace(experiment, decisions=tuple(one for one in experiment.decisions if one != mark)))  # 1
    events.say(
        context, "job.undropped", mark.parent, name, f"{name} was undropped{': it goes on where it was stopped' if plan.resumes else ''}"
    )
    return replace(plan, run=_resumed(context, name)) if plan.resumes else plan  # 2


def _mark(experiment: Experiment, job: JobName) -> Decision | None:
    return next((one for one in experiment.decisions if one.job == job and one.choice is Choice.DROPPED), None)


def _not_dropped(job: JobName) -> Conflict:
    return Conflict("decision.not_dropped", f"{job} is not marked as dropped in any experiment", f"If it does not run: `resume {job}`.")


def _undrop_plan(context: Context, mark: Decision, experiment: ExperimentId) -> UndropPlan:
    newest = runs.newest(context, mark.job)
    resumes_it = newest is not None and newest.id == mark.run and not newest.state.live
    goes = f"{mark.job} is resumed where the drop stopped it, with its own checkpoint, query ids and output."
    stays = f"{mark.job} did not run when it was dropped, or was resumed since: it stays as it is."
    marked = "It is marked as dropped no more."
    return UndropPlan(mark.job, experiment, resumes_it, (marked, goes if resumes_it else stays))


def _resumed(context: Context, job: JobName) -> RunId:
    begun = resumes.resume(context, job, ResumeRequest())
    assert isinstance(begun, Run)
    return begun.id
