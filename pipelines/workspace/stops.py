"""Stops: what is wanted is written down, the supervisor ends the run, then the stop is finished here with its savepoint.

The order: (1) the operation is recorded, (2) `wanted.json` asks for the stop, (3) the supervisor ends the run and records its exit,
(4) the savepoint is taken, (5) the operation is done, (6) `wanted.json` asks no more. A crash before (6) repeats (4) and (5), and (4)
finds the savepoint that it took.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.errors import GROUPS, Conflict, NotFound, TidemarkError
from pipelines.domain.ids import JobName, OperationId, SavepointId
from pipelines.domain.jobs import Run, StopWanted, Wanted
from pipelines.domain.operations import Operation, OperationState, failed
from pipelines.domain.savepoints import Reason
from pipelines.verbs.stop import Stop, StopPlan
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Works
from pipelines.workspace import attachments, events, operations, restarts, runs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Recorded, plans

NOTHING_TO_SAVE = {"savepoint.no_query", "savepoint.no_batch"}
"""A script without streaming queries, or a stop before the first batch: that is not a savepoint that failed."""


@plans(Stop)
def plan(context: Context, change: Stop) -> Recorded[StopPlan]:
    """Plans to end the job's run, or its wait for a restart; during a stop it answers with that stop. Raises Conflict (`job.not_running`,
    `job.attached`)."""
    name = runs.known(context, change.job)
    attachments.refuse(context, name, "stopped")
    run = _live(context, name)
    stop = context.files.wanted(name).stop
    saves = change.savepoint and not change.at_once
    shown = StopPlan(name, run.id, change.at_once, saves, stop.operation if stop else None)
    return Recorded(shown, lambda: _stop(context, shown, change.label))


def _live(context: Context, name: JobName) -> Run:
    run = runs.newest(context, name)
    if run is None or not run.state.goes_on:
        raise Conflict("job.not_running", f"Job {name} is not running", "Resume it first, or take a savepoint of it as it stands.")
    return run


def _stop(context: Context, plan: StopPlan, label: str) -> Operation:
    with context.holding(plan.job):
        run, wanted = _live(context, plan.job), context.files.wanted(plan.job)
        return _ask(context, plan, run, label) if wanted.stop is None else _again(context, plan, wanted, wanted.stop)


def _ask(context: Context, plan: StopPlan, run: Run, label: str) -> Operation:
    kind = "cancel" if plan.at_once else "stop"
    operation = Operation(OperationId(context.new_id("o")), kind, plan.job, OperationState.RUNNING, context.now_ms())
    operations.save(context, operation)
    stop = StopWanted(plan.at_once, plan.savepoint, operation.id, label)
    context.files.write(context.layout.wanted_file(plan.job), Wanted(run.id, stop))
    restarts.cancel(context, run)
    events.say(context, f"run.{kind}", plan.job, run.id, f"{kind} was asked for")
    context.changed.set()
    return operation


def _again(context: Context, plan: StopPlan, wanted: Wanted, stop: StopWanted) -> Operation:
    """A cancel overtakes a stop that waits for its batch boundary; anything else changes nothing."""
    if plan.at_once and not stop.at_once:
        context.files.write(context.layout.wanted_file(plan.job), Wanted(wanted.run, replace(stop, at_once=True, savepoint=False)))
        context.changed.set()
    return operations.get(context, stop.operation)


def finish(context: Context, job: JobName, stop: StopWanted, *, with_savepoint: bool) -> SavepointId | None:
    """Carries a stop through once its run has ended; the id of its savepoint, None where there is none.

    A stop that was to save and could not has stopped the job all the same: its operation fails, and says so.
    """
    with context.holding(job):
        running = _running(context, job, stop)
        try:
            savepoint = _savepoint(context, job, stop) if with_savepoint else None
            ended = replace(running, state=OperationState.DONE, result=savepoint or "", ended_ms=context.now_ms())
        except TidemarkError as error:
            savepoint = None
            ended = failed(running, _unsaved(job, error), context.now_ms())
            kind = "savepoint.skipped" if error.code in NOTHING_TO_SAVE else "savepoint.failed"
            events.say(context, kind, job, stop.operation, f"no savepoint at the stop: {error.message}")
        operations.save(context, ended)
        context.files.write(context.layout.wanted_file(job), replace(context.files.wanted(job), stop=None))
        return savepoint


def _unsaved(job: JobName, error: TidemarkError) -> TidemarkError:
    message = f"Job {job} has stopped, without a savepoint: {error.message}"
    if error.code in NOTHING_TO_SAVE:
        return Conflict(error.code, message, "Nothing is lost: a resume begins where it was. To stop without a savepoint, say so.")
    return GROUPS.get(error.group, TidemarkError)(error.code, message, error.hint)


def _savepoint(context: Context, job: JobName, stop: StopWanted) -> SavepointId:
    run = runs.newest(context, job)
    for earlier in savepoints.newest_first(context, job):
        if run is not None and earlier.run == run.id and earlier.reason is Reason.STOP:
            return earlier.id
    take = Take(job, label=stop.label)
    works = Works("take", job)
    return operations.noticed(
        context, works, lambda ticket: savepoints.taken(context, job, take, Reason.STOP, ticket), lambda savepoint: savepoint.id
    ).id


def _running(context: Context, job: JobName, stop: StopWanted) -> Operation:
    """The operation, created anew where the catalog was rebuilt meanwhile."""
    try:
        return operations.get(context, stop.operation)
    except NotFound:
        return Operation(stop.operation, "stop", job, OperationState.RUNNING, context.now_ms())
