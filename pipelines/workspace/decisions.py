"""Decisions on a variant: what is a variant, how one is dropped, and how its experiment keeps what was decided."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from pipelines.catalog import experiments as experiment_rows
from pipelines.domain.decisions import Choice, Decision, DropPlan
from pipelines.domain.errors import GROUPS, Conflict, TidemarkError
from pipelines.domain.ids import JobName, OperationId, SavepointId
from pipelines.domain.jobs import Origin, Run
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.requests import DropRequest, StopRequest
from pipelines.domain.versions import Version
from pipelines.workspace import events, operations, runs, savepoints, stops, versions
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
    marked = f"It is marked as dropped. Its output and its savepoints ({kept}) stay; `forget` removes the job."
    return DropPlan(known.job, known.parent, known.origin.experiment, live, kept, (*ends, marked))


def _drop(parts: Parts, known: Variant, request: DropRequest, ticket: Ticket) -> str:
    ticket.step(f"stopping {known.job}")
    taken = stopped(parts, known.job, StopRequest(request.savepoint, request.at_once, f"{known.job} was dropped"), ticket)
    decision = Decision(known.job, Choice.DROPPED, parts.now_ms(), known.parent, None, None, taken)
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
                decided = replace(experiment, decisions=(*experiment.decisions, decision))
                parts.files.write(parts.layout.experiment_file(named), decided)
                with parts.catalog.writing() as writer:
                    experiment_rows.save(writer, [decided])
    events.say(parts, f"job.{decision.choice}", decision.parent, known.job, message)
