"""Rescaling a job: it stops with a savepoint, and goes on from a copy of it whose state has other partitions.

The order: (1) the job is stopped with a savepoint where it runs, else one is taken; (2) it is resumed from it, with the rewriting as a step
of the restore. Where one of them fails, a job that ran goes on as it was; where the server ends, the next one goes on with it
(`changeovers`). A job that did not run is left as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.decisions import Does, Step
from pipelines.domain.errors import Conflict, refusal
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Reason
from pipelines.savepoint import rescaling, restore, rewind
from pipelines.storage import documents
from pipelines.verbs.rescale import Rescale, RescalePlan
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.workspace import attachments, changeovers, events, job_places, lockstep, resumes, runs, savepoints
from pipelines.workspace.changeovers import Changeover
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.tickets import Ticket

RESCALED = "job.rescaled"


@dataclass(frozen=True)
class Rescaling:
    """A job to rescale: the savepoint that it goes on from, where it does not run, and the run that begins."""

    job: JobName
    newest: Run
    take: PlannedTake
    run: RunId
    plan: RescalePlan


@plans(Rescale)
def plan(context: Context, change: Rescale) -> Planned[str, RescalePlan]:
    """Raises Conflict (`job.attached`, `savepoint.no_query`, `savepoint.no_batch`) and what taking a savepoint raises. What its state and
    its sinks refuse is the plan's refusal."""
    name = runs.known(context, change.job)
    attachments.refuse(context, name, "rescaled")
    lockstep.refuse_follower(context, context.files.job(name), "rescaled")
    newest = runs.newest(context, name)
    if newest is None:
        raise Conflict("savepoint.no_query", f"No streaming query of job {name} has started", "Run it first: it has no state yet.")
    label = f"before it was rescaled to {change.partitions} partitions"
    take = savepoints.planned_take(context, name, Take(name, label=label), Reason.BEFORE_RESUME)
    run = RunId(context.new_id("r"))
    restored = _restore(context, name, run, newest, take, change.partitions)
    live = newest.state.live
    shown = RescalePlan(name, newest.id, change.partitions, live, _steps(name, change.partitions, live), restored)
    rescaling = Rescaling(name, newest, take, run, shown)
    return Planned(shown, lambda ticket: _rescale(context, rescaling, ticket))


def _restore(context: Context, job: JobName, run: RunId, newest: Run, take: PlannedTake, partitions: int) -> RestorePlan:
    """The plan of the resume from the savepoint that is not taken yet, and of the rewriting of its copy."""
    shown = rewind.plan(take.look, restore.Resume(job, job_places.next_checkpoints(context, job, run)))
    held = rescaling.of_look(take.look)
    rewrite = rescaling.plan(held, partitions, take.source.spark_version)
    unfinished = None if newest.state.live else rescaling.unfinished(take.source, take.look)
    refused = rewrite.refusal or (refusal(unfinished) if unfinished else None)
    saves = () if newest.state.live else (take.label,)
    return replace(shown, run=run, version=newest.version, rewrite=rewrite, refusal=refused, saves=saves)


def _steps(job: JobName, partitions: int, live: bool) -> tuple[Step, ...]:
    """The steps, in the order in which `_rescale` does them."""
    if live:
        saved = Step(Does.STOP, f"{job} stops at its next batch boundary, with a savepoint.")
    else:
        saved = Step(Does.SAVE, f"A savepoint is taken of {job} as it stands.")
    rewritten = f"Spark rewrites a copy of the savepoint's state with {partitions:,} partitions, and each store is read back"
    goes = f"{job} goes on with that copy, with its own query ids, output and version; if the rewriting fails, "
    return (
        saved,
        Step(Does.REWRITE, f"{rewritten}: it must hold the same keys and values as before."),
        Step(Does.RESUME, goes + ("it goes on as it was." if live else "it stays as it is.")),
    )


def _rescale(context: Context, asked: Rescaling, ticket: Ticket) -> str:
    if asked.plan.restore.refusal is not None:
        raise asked.plan.restore.refusal.error
    message = f"{asked.job} was rescaled: it goes on with its state in {asked.plan.partitions:,} partitions"
    resume = Resume(asked.job, force=True)
    if asked.plan.stops:
        asked_for = (asked.job, ticket.operation, "rescale", asked.newest.id, asked.run)
        changeover = Changeover(*asked_for, asked.take.label, documents.plain(resume), RESCALED, message, partitions=asked.plan.partitions)
        return changeovers.carry_out(context, changeover, ticket).id
    ticket.step(f"taking a savepoint of {asked.job}")
    resume = replace(resume, from_savepoint=savepoints.publish(context, asked.take, ticket).id)
    run = resumes.planned(context, resume, run=asked.run, partitions=asked.plan.partitions).do(ticket)
    events.say(context, RESCALED, asked.job, run.id, message)
    return run.id
