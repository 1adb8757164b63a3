"""Changeovers: a job that runs is stopped, and begun again with something changed; what was decided about it outlives the server.

The order: (1) `changeover.json` says how the job goes on, and as which run; (2) the job is stopped with a savepoint; (3) that run begins;
(4) a decision that it carries out is recorded; (5) the file goes. Where (2) or (3) fails, the file says why, and the job goes on as it was
before (5). A server that ends before (5) leaves the operation running: the supervisor of the next one goes on with it from there, and a run
that has begun is not begun again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.domain.bounds import Count
from pipelines.domain.decisions import Decision
from pipelines.domain.errors import Conflict, Refusal, TidemarkError, Unavailable, refusal
from pipelines.domain.ids import ExperimentId, JobName, OperationId, QueryName, RunId, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Reason
from pipelines.domain.verdicts import Verdict
from pipelines.domain.workspace_leases import UNRENEWED
from pipelines.savepoint.adoptions import Adopting
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
    adopts: Mapping[QueryName, Adopting] | None = None
    """What its queries take over of a variant, from whose savepoint it goes on."""
    decides: Decision | None = None
    """What is recorded once the run has begun, with the savepoint of the stop."""
    experiment: ExperimentId | None = None
    """That keeps the decision."""
    failed: Refusal | None = None
    """Why the job goes on as it was."""


def carry_out(context: Context, asked: Changeover, ticket: Ticket) -> Run:
    """The run that begins; raises what stopping and resuming raise, with the job as it was, and Conflict (`resume.overtaken`) where the job
    is being changed over already. It is cancelled only where the server ends: then it is left to the next one; while the workspace may be
    another server's, to whose it is."""
    with context.holding(asked.job):
        other = find(context, asked.job)
        if other is not None:
            raise Conflict(
                "resume.overtaken", f"Job {asked.job} is being stopped and begun again ({other.kind})", "Wait until it has ended."
            )
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
    return _carried_out(context, left, ticket, begun)


def _carried_out(context: Context, asked: Changeover, ticket: Ticket, begun: Run | None = None) -> Run:
    try:
        begun = begun or _begun(context, asked, ticket)
        _decide(context, asked)  # 4
        _forget(context, asked)  # 5
    except BaseException as error:
        ticket.is_left = _is_left(error)
        if not ticket.is_left:
            _forget(context, asked)
        raise
    subject: str = asked.decides.job if asked.decides is not None else begun.id
    events.say(context, asked.event, asked.job, subject, asked.message)
    return begun


def _is_left(error: BaseException) -> bool:
    return isinstance(error, Cancelled) or (isinstance(error, Unavailable) and error.code == UNRENEWED)


def _decide(context: Context, asked: Changeover) -> None:
    if asked.decides is not None:
        decisions.keep(context, asked.experiment, replace(asked.decides, savepoint=_of_stop(context, asked)))


def _forget(context: Context, asked: Changeover) -> None:
    context.files.remove(context.layout.changeover_file(asked.job))


def _begun(context: Context, asked: Changeover, ticket: Ticket) -> Run:
    if asked.failed is not None:
        raise decisions.as_it_was(context, asked.job, asked.failed.error)
    try:
        return _stopped_and_begun(context, asked, ticket)
    except TidemarkError as error:
        if _is_left(error):
            raise
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
        saved = stopped or _of_stop(context, asked)
        if saved is None:
            raise Conflict("rescale.unsaved", f"{asked.job} stopped without a savepoint", "Resume it: it goes on as it was.")
        resume = replace(resume, from_savepoint=saved)
    ticket.step(f"starting {asked.job}")
    begins = resumes.planned(
        context,
        resume,
        run=asked.begins,
        partitions=asked.partitions,
        adopts=asked.adopts,
        judged=asked.judged,
        verdict=asked.verdict,
    )
    return begins.do(ticket)  # 3


def _of_stop(context: Context, asked: Changeover) -> SavepointId | None:
    """The savepoint of the stop; None where there was nothing to save."""
    for savepoint in savepoints.newest_first(context, asked.job):
        if savepoint.run == asked.stops and savepoint.reason is Reason.STOP:
            return savepoint.id
    return None
