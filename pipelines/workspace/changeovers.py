"""Changeovers: a job that runs is stopped, and begun again with something changed; what was decided about it outlives the server.

The order: (1) `changeover.json` says how the job goes on, and as which run; (2) the job is stopped with a savepoint; (3) that run begins;
(4) the file goes. Where (2) or (3) fails, the file says why, and the job goes on as it was before (4). A server that ends before (4) leaves
the operation running: the supervisor of the next one goes on with it from there, and a run that has begun is not begun again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.domain.bounds import Count
from pipelines.domain.errors import Conflict, Refusal, TidemarkError, refusal
from pipelines.domain.ids import JobName, OperationId, RunId, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Reason
from pipelines.domain.verdicts import Verdict
from pipelines.storage import documents
from pipelines.verbs.resume import Resume
from pipelines.verbs.stop import Stop
from pipelines.workspace import decisions, events, operations, resumes, runs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Cancelled, Ticket


@dataclass(frozen=True)
class Changeover:
    """How a job goes on that is stopped for it (`jobs/<job>/changeover.json`, there while that goes on)."""

    job: JobName
    operation: OperationId
    kind: str
    """Of the operation."""
    stops: RunId
    begins: RunId
    label: str
    """Of the savepoint of the stop."""
    resume: Mapping[str, Any]
    """The fields of the resume that is asked for; its declaration has their bounds."""
    event: str
    message: str
    """What is said once the run has begun."""
    judged: SavepointId | None = None
    """The savepoint that stands for the state."""
    verdict: Verdict | None = None
    """What the code was found to be before the job was stopped for it."""
    partitions: Count | None = None
    """Of the state, which is rescaled from the savepoint of the stop."""
    failed: Refusal | None = None
    """Why the job goes on as it was."""


def carry_out(context: Context, asked: Changeover, ticket: Ticket) -> Run:
    """The run that begins; raises what stopping and resuming raise, with the job as it was. It is cancelled only where the server ends:
    then it is left to the next one."""
    context.files.write(context.layout.changeover_file(asked.job), asked)  # 1
    return _carried_out(context, asked, ticket)


def go_on(context: Context, job: JobName) -> None:
    """Goes on with the changeover of the job that an earlier server has left, if there is one, beside the caller."""
    left = find(context, job)
    if left is not None and left.operation not in context.under_way:
        operation = operations.get(context, left.operation)
        operations.carry_on(context, operation, lambda ticket: _completed(context, left, ticket).id)


def find(context: Context, job: JobName) -> Changeover | None:
    return context.files.find(Changeover, context.layout.changeover_file(job))


def _completed(context: Context, left: Changeover, ticket: Ticket) -> Run:
    events.say(context, "changeover.taken_up", left.job, left.operation, f"the {left.kind} of {left.job} goes on: its server had ended")
    wanted = context.files.wanted(left.job).run
    begun = runs.find(context, left.begins) if wanted == left.begins else None
    if begun is None and left.failed is None and wanted != left.stops:
        _forget(context, left)
        raise Conflict("resume.overtaken", f"Another call started job {left.job} meanwhile", "Look at what it runs now.")
    return _carried_out(context, left, ticket) if begun is None else _done(context, left, begun)


def _carried_out(context: Context, asked: Changeover, ticket: Ticket) -> Run:
    try:
        begun = _begun(context, asked, ticket)
    except Cancelled:
        ticket.is_left = True
        raise
    except BaseException:
        _forget(context, asked)
        raise
    return _done(context, asked, begun)


def _done(context: Context, asked: Changeover, begun: Run) -> Run:
    _forget(context, asked)  # 4
    events.say(context, asked.event, asked.job, begun.id, asked.message)
    return begun


def _forget(context: Context, asked: Changeover) -> None:
    context.layout.changeover_file(asked.job).unlink()


def _begun(context: Context, asked: Changeover, ticket: Ticket) -> Run:
    if asked.failed is not None:
        raise decisions.as_it_was(context, asked.job, asked.failed.error)
    try:
        return _stopped_and_begun(context, asked, ticket)
    except Cancelled:
        raise
    except TidemarkError as error:
        context.files.write(context.layout.changeover_file(asked.job), replace(asked, failed=refusal(error)))
        raise decisions.as_it_was(context, asked.job, error) from error


def _stopped_and_begun(context: Context, asked: Changeover, ticket: Ticket) -> Run:
    ticket.step(f"stopping {asked.job}")
    stopped = decisions.stopped(context, Stop(asked.job, label=asked.label), ticket)  # 2
    while context.files.wanted(asked.job).stop is not None:  # a stop that an earlier server has begun
        ticket.check()
        time.sleep(decisions.PAUSE_S)
    resume = documents.made(Resume, asked.resume, context.layout.changeover_file(asked.job).name)
    if asked.partitions is not None:
        resume = replace(resume, from_savepoint=stopped or _of_stop(context, asked))
    ticket.step(f"starting {asked.job}")
    begins = resumes.planned(context, resume, run=asked.begins, partitions=asked.partitions, judged=asked.judged, verdict=asked.verdict)
    return begins.do(ticket)  # 3


def _of_stop(context: Context, asked: Changeover) -> SavepointId:
    """The savepoint of a stop that ended before; Conflict (`rescale.unsaved`) where there is none."""
    for savepoint in savepoints.newest_first(context, asked.job):
        if savepoint.run == asked.stops and savepoint.reason is Reason.STOP:
            return savepoint.id
    raise Conflict("rescale.unsaved", f"{asked.job} stopped without a savepoint", "Resume it: it goes on as it was.")
