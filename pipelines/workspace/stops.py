"""Stops: what is wanted is written down, the supervisor ends the run, then the stop is finished here with its savepoint.

The order: (1) the operation is recorded, (2) `wanted.json` asks for the stop, (3) the supervisor ends the run and records its exit,
(4) the savepoint is taken, (5) the operation is done, (6) `wanted.json` asks no more. A crash before (6) repeats (4) and (5), and (4)
finds the savepoint that it took.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.errors import Conflict, NotFound, TidemarkError
from pipelines.domain.ids import JobName, OperationId, SavepointId
from pipelines.domain.jobs import Run, StopWanted, Wanted
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.requests import StopRequest, TakeRequest
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.workspace import attachments, events, operations, runs, savepoints
from pipelines.workspace.context import Context

NOTHING_TO_SAVE = {"savepoint.no_query", "savepoint.no_batch"}
"""A script without streaming queries, or a stop before the first batch: that is not a savepoint that failed."""


def stop(context: Context, job: str, request: StopRequest) -> Operation:
    """Asks the job's run to end; asked again it answers with the stop that is under way.

    Raises Conflict (`job.not_running`, `job.attached`).
    """
    name = runs.known(context, job)
    attachments.refuse(context, name, "stopped")
    with context.holding(name):
        run = runs.newest(context, name)
        if run is None or not run.state.live:
            raise Conflict("job.not_running", f"Job {name} is not running", "Resume it first, or take a savepoint of it as it stands.")
        wanted = context.files.wanted(name)
        if wanted.stop is not None:
            return _again(context, name, wanted, wanted.stop, request)
        return _ask(context, name, run, request)


def _ask(context: Context, job: JobName, run: Run, request: StopRequest) -> Operation:
    kind = "cancel" if request.at_once else "stop"
    operation = Operation(OperationId(context.new_id("o")), kind, job, OperationState.RUNNING, context.now_ms())
    operations.save(context, operation)
    asked = StopWanted(request.at_once, request.savepoint and not request.at_once, operation.id, request.label)
    context.files.write(context.layout.wanted_file(job), Wanted(run.id, asked))
    events.say(context, f"run.{kind}", job, run.id, f"{kind} was asked for")
    context.changed.set()
    return operation


def _again(context: Context, job: JobName, wanted: Wanted, asked: StopWanted, request: StopRequest) -> Operation:
    """A cancel overtakes a stop that waits for its batch boundary; anything else changes nothing."""
    if request.at_once and not asked.at_once:
        context.files.write(context.layout.wanted_file(job), Wanted(wanted.run, replace(asked, at_once=True, savepoint=False)))
        context.changed.set()
    return operations.get(context, asked.operation)


def finish(context: Context, job: JobName, asked: StopWanted, *, with_savepoint: bool) -> SavepointId | None:
    """Carries a stop through once its run has ended; the id of its savepoint, None where there was nothing to save.

    A savepoint that fails fails the operation alone.
    """
    with context.holding(job):
        running = _running(context, job, asked)
        try:
            taken = _savepoint(context, job, asked) if with_savepoint else None
            ended = replace(running, state=OperationState.DONE, result=taken or "", ended_ms=context.now_ms())
        except TidemarkError as error:
            taken = None
            nothing = error.code in NOTHING_TO_SAVE
            done = replace(running, state=OperationState.DONE, ended_ms=context.now_ms())
            ended = done if nothing else operations.failed(running, error, context.now_ms())
            events.say(
                context,
                "savepoint.skipped" if nothing else "savepoint.failed",
                job,
                asked.operation,
                f"no savepoint at the stop: {error.message}",
            )
        operations.save(context, ended)
        context.files.write(context.layout.wanted_file(job), replace(context.files.wanted(job), stop=None))
        return taken


def _savepoint(context: Context, job: JobName, asked: StopWanted) -> SavepointId:
    run = runs.newest(context, job)
    for earlier in savepoints.newest_first(context, job):
        if run is not None and earlier.run == run.id and earlier.reason is Reason.STOP:
            return earlier.id
    taken = savepoints.take(context, job, TakeRequest(label=asked.label), reason=Reason.STOP)
    assert isinstance(taken, Savepoint)
    return taken.id


def _running(context: Context, job: JobName, asked: StopWanted) -> Operation:
    """The operation, made again where the catalog was rebuilt meanwhile."""
    try:
        return operations.get(context, asked.operation)
    except NotFound:
        return Operation(asked.operation, "stop", job, OperationState.RUNNING, context.now_ms())
