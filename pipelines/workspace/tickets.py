"""Tickets: the progress of a piece of work, and its cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from pipelines.domain.errors import Conflict, Unavailable
from pipelines.domain.ids import JobName, OperationId
from pipelines.domain.operations import Amount


class Cancelled(Conflict):
    """Raised inside of the work when it was cancelled."""


class Ticket:
    """The progress of a piece of work. Every call raises `Cancelled` once the work was cancelled, and Unavailable
    (`operation.late`) once it has taken longer than it may."""

    def __init__(self, operation: OperationId | None = None, may: Callable[[], object] = lambda: None) -> None:
        """`may` is asked before each step: what it raises ends the work."""
        self.operation = operation or OperationId("")
        """The operation that the work is done as; empty for work that is done at once."""
        self._may = may
        self._amount: Amount | None = None
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self.job = JobName("")
        """The job that the work is about, where only the work itself finds it out."""
        self.ended = threading.Event()
        self.is_left = False
        """Whether work that ended early is written down, and left to who goes on with it."""
        self._limit: tuple[float, float, str] | None = None

    @property
    def amount(self) -> Amount | None:
        return self._amount

    def step(self, step: str, total: int = 0, unit: str = "bytes") -> None:
        """A new step begins, of `total` units."""
        self.check()
        self._may()
        self._amount = Amount(step, 0, total, unit)

    def advance(self, done: int) -> None:
        """`done` more units of the present step; may be called from several threads."""
        self.check()
        with self._lock:
            if self._amount is not None:
                self._amount = replace(self._amount, done=self._amount.done + done)

    def check(self) -> None:
        if self._ending.is_set():
            raise Cancelled("operation.cancelled", "The operation was cancelled", "Begin it again.")
        if self._limit is not None and time.monotonic() > self._limit[1]:
            seconds, _, hint = self._limit
            raise Unavailable("operation.late", f"It did not end within {seconds:g} s, and was ended", hint)

    def limit(self, seconds: float, hint: str) -> None:
        """From now on the work may take so long; `hint` says what can be done where it takes longer."""
        self._limit = (seconds, time.monotonic() + seconds, hint)

    def end(self) -> None:
        """Cancels the work: its next call raises."""
        self._ending.set()
