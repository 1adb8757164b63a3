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
from pipelines.workspace.operations import Ticket
from pipelines.workspace.parts import Parts

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


def variant(parts: Parts, named: str) -> Variant:
    """Raises NotFound (`job.not_found`) and Conflict (`decision.no_fork`, `decision.made`)."""
    name = runs.known(parts, named)
    job, run = parts.files.job(name), runs.newest(parts, name)
    if job is None or job.origin is None or run is None:
        message = f"Job {name} is no fork: there is no parent that could go on with it"
        raise Conflict("decision.no_fork", message, "A job takes other code when it is resumed with it.")
    experiment = parts.files.experiment(job.origin.experiment) if job.origin.experiment else None
    decided = experiment.decisions if experiment else ()
    made = next((one for one in decided if one.job == name), None)
    if made is not None:
        raise Conflict("decision.made", f"That was decided already: {name} was {made.choice}", "Fork again to try something else.")
    return Variant(name, job.origin, run, versions.get(parts, run.version), decided)


def drop(parts: Parts, job: str, request: DropRequest) -> Operation | DropPlan:
    """The variant stops, where it runs; then that is recorded. Raises what `variant` raises."""
    known = variant(parts, job)
    if request.dry_run:
        return _plan(parts, known, request)
    return begin(parts, "drop", known.job, known, lambda ticket: _drop(parts, known, request, ticket))


def begin(parts: Parts, kind: str, job: JobName, known: Variant, work: operations.Work) -> Operation:
    """An operation on `job` about the variant."""
    wanted = Operation(OperationId(parts.new_id("o")), kind, job, OperationState.RUNNING, parts.now_ms(), subject=known.job)
    return operations.begin(parts, wanted, work)


def _plan(parts: Parts, known: Variant, request: DropRequest) -> DropPlan:
    live, kept = known.run.state.live, len(savepoints.newest_first(parts, known.job))
    how = "at once, without a savepoint" if request.at_once else "at its next batch boundary"
    saved = ", with a savepoint" if request.savepoint and not request.at_once else ""
    ends = (f"{known.job} ends {how}{saved}.",) if live else ()
    marked = f"It is marked as dropped. Its output and its savepoints ({kept}) stay; `undrop` takes it back, `forget` removes the job."
    return DropPlan(known.job, known.parent, known.origin.experiment, live, kept, (*ends, marked))


def _drop(parts: Parts, known: Variant, request: DropRequest, ticket: Ticket) -> str:
    ticket.step(f"stopping {known.job}")
    run = runs.newest(parts, known.job)
    ended = run.id if run is not None and run.state.live else None
    taken = stopped(parts, known.job, StopRequest(request.savepoint, request.at_once, f"{known.job} was dropped"), ticket)
    decision = Decision(known.job, Choice.DROPPED, parts.now_ms(), known.parent, None, ended, taken)
    record(parts, known, decision, f"{known.job} was dropped; its savepoints stay")
    return taken or ""


def stopped(parts: Parts, job: JobName, request: StopRequest, ticket: Ticket) -> SavepointId | None:
    """Waits until `job` does not run; the savepoint of its stop. Raises the error of a stop that failed."""
    newest = runs.newest(parts, job)
    if newest is None or not newest.state.live:
        return None
    asked = stops.stop(parts, job, request)
    while (seen := operations.get(parts, asked.id)).state is OperationState.RUNNING:
        ticket.check()
        time.sleep(PAUSE_S)
    if seen.state is not OperationState.DONE:
        raise GROUPS.get(seen.error_group, TidemarkError)(seen.error_code, seen.error_message, seen.error_hint)
    return SavepointId(seen.result) if seen.result else None


def record(parts: Parts, known: Variant, decision: Decision, message: str) -> None:
    """The experiment's file, then the catalog, then the event. A fork outside of any experiment has the event alone."""
    named = known.origin.experiment
    if named:
        with parts.claiming(f"experiment {named}"):
            experiment = parts.files.experiment(named)
            if experiment is not None:
                _keep(parts, replace(experiment, decisions=(*experiment.decisions, decision)))
    events.say(parts, f"job.{decision.choice}", decision.parent, known.job, message)


def _keep(parts: Parts, experiment: Experiment) -> None:
    parts.files.write(parts.layout.experiment_file(experiment.id), experiment)
    with parts.catalog.writing() as writer:
        experiment_rows.save(writer, [experiment])


def undrop(parts: Parts, job: str, request: UndropRequest) -> UndropPlan:
    """The mark of the drop goes, and the variant is resumed where the drop ended it. What a resume raises leaves it stopped, without mark.

    Raises NotFound (`job.not_found`: it was forgotten), Conflict (`decision.not_dropped`).
    """
    name = runs.known(parts, job)
    known = parts.files.job(name)
    named = known.origin.experiment if known is not None and known.origin is not None else None
    if named is None:
        raise _not_dropped(name)
    with parts.claiming(f"experiment {named}"):
        experiment = parts.files.experiment(named)
        mark = _mark(experiment, name) if experiment is not None else None
        if experiment is None or mark is None:
            raise _not_dropped(name)
        plan = _undrop_plan(parts, mark, experiment.id)
        if request.dry_run:
            return plan
        _keep(parts, replace(experiment, decisions=tuple(one for one in experiment.decisions if one != mark)))  # 1
    events.say(
        parts, "job.undropped", mark.parent, name, f"{name} was undropped{': it goes on where it was stopped' if plan.resumes else ''}"
    )
    return replace(plan, run=_resumed(parts, name)) if plan.resumes else plan  # 2


def _mark(experiment: Experiment, job: JobName) -> Decision | None:
    return next((one for one in experiment.decisions if one.job == job and one.choice is Choice.DROPPED), None)


def _not_dropped(job: JobName) -> Conflict:
    return Conflict("decision.not_dropped", f"{job} is not marked as dropped in any experiment", f"If it does not run: `resume {job}`.")


def _undrop_plan(parts: Parts, mark: Decision, experiment: ExperimentId) -> UndropPlan:
    newest = runs.newest(parts, mark.job)
    resumes_it = newest is not None and newest.id == mark.run and not newest.state.live
    goes = f"{mark.job} is resumed where the drop stopped it, with its own checkpoint, query ids and output."
    stays = f"{mark.job} did not run when it was dropped, or was resumed since: it stays as it is."
    marked = "It is marked as dropped no more."
    return UndropPlan(mark.job, experiment, resumes_it, (marked, goes if resumes_it else stays))


def _resumed(parts: Parts, job: JobName) -> RunId:
    begun = resumes.resume(parts, job, ResumeRequest())
    assert isinstance(begun, Run)
    return begun.id
