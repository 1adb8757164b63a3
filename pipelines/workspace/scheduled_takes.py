"""Savepoints that schedules take: each is an operation, like those that people ask for, and prunes afterwards."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Literal

from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.savepoints import QueryImage, Reason, Savepoint
from pipelines.domain.schedules import Attempt, Outcome
from pipelines.verbs.prune import Prune
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Works
from pipelines.words import plans as words
from pipelines.workspace import events, operations, prunes, savepoints, schedules
from pipelines.workspace.context import Context
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.stops import NOTHING_TO_SAVE
from pipelines.workspace.tickets import Ticket

NO_ID: Literal[""] = ""


@dataclass
class Takes:
    """The takes under way, which `end` cancels."""

    context: Context
    _tickets: set[Ticket] = field(default_factory=set)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _ended: bool = False

    def take(self, job: JobName, due_ms: int) -> None:
        """Attends to a time of the job's schedule, in the calling thread; what fails is kept with the job, and said."""
        try:
            operations.noticed(self.context, Works("take", job), lambda ticket: self._attend(job, due_ms, ticket), str)
        except TidemarkError as error:
            if not self._ended:
                failed(self.context, job, due_ms, error.code, f"{error.message}. {error.hint}")

    def end(self) -> None:
        """Cancels those under way, and each that would begin; the times count as not attended to."""
        with self._turn:
            self._ended = True
            for ticket in self._tickets:
                ticket.end()

    def _attend(self, job: JobName, due_ms: int, ticket: Ticket) -> SavepointId | Literal[""]:
        with self._turn:
            self._tickets.add(ticket)
            if self._ended:
                ticket.end()
        try:
            ticket.check()
            attempt = _attempt(self.context, job, due_ms, ticket)
            schedules.attended(self.context, job, attempt)
            if attempt.outcome is Outcome.TAKEN:
                prune(self.context, job, ticket)
            return attempt.savepoint
        finally:
            with self._turn:
                self._tickets.discard(ticket)


def failed(context: Context, job: JobName, due_ms: int, code: str, message: str) -> None:
    """Keeps a failure with the job, which shows it until a later time goes well, and says it."""
    schedules.attended(context, job, Attempt(due_ms, context.now_ms(), Outcome.FAILED, NO_ID, code, message))
    events.say(context, "savepoint.failed", job, job, f"no scheduled savepoint of {job}: {message}")


def prune(context: Context, job: JobName, ticket: Ticket) -> None:
    """Deletes what is past what is kept; what fails is said, and tried again after the next one."""
    try:
        planned = prunes.plan(context, Prune(job))
        done = planned.do(ticket).disposal
    except TidemarkError as error:
        events.say(context, "prune.failed", job, job, f"scheduled savepoints of {job} could not be pruned: {error.message}")
        return
    if done.plans:
        events.say(context, "savepoint.pruned", job, job, f"pruned {words.disposed(done)} of {job}")
    for refused in done.refused:
        reason = refused.refusal.message if refused.refusal else ""
        events.say(context, "savepoint.kept", job, refused.savepoint, f"{refused.savepoint} is past what is kept, and stays: {reason}")


def _attempt(context: Context, job: JobName, due_ms: int, ticket: Ticket) -> Attempt:
    """What comes of the time. A savepoint that a server took for it, and died before it could say so, counts."""
    taken = savepoints.newest_first(context, job)
    earlier = next((one for one in taken if one.reason is Reason.SCHEDULED and one.created_ms >= due_ms), None)
    if earlier is not None:
        return Attempt(due_ms, context.now_ms(), Outcome.TAKEN, earlier.id)
    try:
        planned = savepoints.planned_take(context, job, Take(job), Reason.SCHEDULED)
    except TidemarkError as error:
        if error.code not in NOTHING_TO_SAVE:
            raise
        return Attempt(due_ms, context.now_ms(), Outcome.NOTHING)
    same = next((one for one in taken[:1] if _is_same(one, planned)), None)
    if same is not None:
        return Attempt(due_ms, context.now_ms(), Outcome.UNCHANGED, same.id)
    return Attempt(due_ms, context.now_ms(), Outcome.TAKEN, savepoints.publish(context, planned, ticket).id)


def _is_same(savepoint: Savepoint, planned: PlannedTake) -> bool:
    """Whether the savepoint holds these very batches of this version. Without damage, that is: another one is worth its files then."""
    images = [contents.image for contents in planned.look.gathered]
    is_same = savepoint.version == planned.source.version.id and _places(savepoint.queries) == _places(images)
    return is_same and not savepoint.damaged_files


def _places(images: tuple[QueryImage, ...] | list[QueryImage]) -> set[tuple[str, str, int, int]]:
    """Each query's batch, and when it was planned: a job that went back counts its batches anew."""
    return {(image.query, image.query_id, image.batch, image.batch_timestamp_ms) for image in images}
