"""What a schedule does by itself: each piece of work is an operation, like those that people ask for; its outcome is kept with the job."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import ClassVar

from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.domain.schedules import Attempt, Outcome, Schedule
from pipelines.verbs.verb import Works
from pipelines.workspace import operations, schedules
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket


class ScheduledWork(ABC):
    """Work of one kind, with what is under way of it, which `end` cancels."""

    at_once: ClassVar[int]
    """So many of the workspace's jobs have it done at the same time; others wait for their turn."""
    needs_run: ClassVar[bool]
    """Whether a time belongs to a job only while it runs."""
    noun: ClassVar[str]
    """`savepoint`: its events are `savepoint.missed` and the like."""
    counted: ClassVar[str]
    """What so many were missed of."""
    made_up: ClassVar[str]
    """How times that were missed are made up for."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._tickets: set[Ticket] = set()
        self._turn = threading.Lock()
        self._ended = False

    @abstractmethod
    def timed(self, schedule: Schedule) -> Schedule:
        """The schedule whose times are those of this work."""

    @abstractmethod
    def last(self, job: Job) -> Attempt | None:
        """What came of its newest time."""

    @abstractmethod
    def kept(self, job: Job, attempt: Attempt | None) -> Job:
        """The job with what came of it."""

    @abstractmethod
    def works(self, job: JobName) -> Works:
        """The operation that it is."""

    @abstractmethod
    def attempt(self, job: JobName, due_ms: int, ticket: Ticket) -> Attempt:
        """Does the work of one time; raises what kept it from that."""

    @abstractmethod
    def say_failed(self, job: JobName, attempt: Attempt) -> None:
        """Says it as an event."""

    def result(self, attempt: Attempt) -> str:
        """What the operation answers with."""
        return attempt.savepoint

    def settled(self, job: JobName, failed: Attempt) -> Attempt | None:
        """The failure as it stands now, None where it is none any more: somebody may have done by hand what failed."""
        return failed

    def early_ms(self, job: JobName, schedule: Schedule) -> int | None:
        """When the work has to be done ahead of the schedule's times; None where it can wait for them."""
        return None

    @abstractmethod
    def done(self, job: JobName, attempt: Attempt, ticket: Ticket) -> None:
        """What is to be done once its outcome is kept."""

    def attend(self, job: JobName, due_ms: int) -> None:
        """Attends to a time of the job's schedule, in the calling thread; what fails is kept with the job, and said."""
        try:
            operations.noticed(self.context, self.works(job), lambda ticket: self._attended(job, due_ms, ticket), str)
        except TidemarkError as error:
            if not self._ended:
                self.failed(job, due_ms, error.code, f"{error.message}. {error.hint}")

    def failed(self, job: JobName, due_ms: int, code: str, message: str) -> None:
        """Keeps a failure with the job, which shows it until a later time goes well, and says it."""
        attempt = Attempt(due_ms, self.context.now_ms(), Outcome.FAILED, "", code, message)
        self.keep(job, attempt)
        self.say_failed(job, attempt)

    def keep(self, job: JobName, attempt: Attempt | None) -> None:
        """Keeps what came of the newest time."""
        schedules.attended(self.context, job, lambda known: self.kept(known, attempt))

    def end(self) -> None:
        """Cancels what is under way, and all that would begin; the times count as not attended to."""
        with self._turn:
            self._ended = True
            for ticket in self._tickets:
                ticket.end()

    def _attended(self, job: JobName, due_ms: int, ticket: Ticket) -> str:
        with self._turn:
            self._tickets.add(ticket)
            if self._ended:
                ticket.end()
        try:
            ticket.check()
            attempt = self.attempt(job, due_ms, ticket)
            self.keep(job, attempt)
            self.done(job, attempt, ticket)
            return self.result(attempt)
        finally:
            with self._turn:
                self._tickets.discard(ticket)
