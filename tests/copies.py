"""A workspace in memory whose savepoints, forks and resumes are copied: each is an operation that goes on until somebody ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from pipelines.domain.errors import Conflict
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.requests import ForkRequest, ResumeRequest, TakeRequest
from tests import samples
from tests.faces import FakeFace

T = TypeVar("T")
PIECE_S = 0.1
PART = 100
"""A hundredth is copied with each piece, up to seven tenths."""


class Copies:
    """Takes the place of the face's own verbs."""

    def __init__(self, face: FakeFace) -> None:
        self._face = face
        self._ended = threading.Event()
        self.begun = threading.Event()
        """Set as soon as an operation is under way."""
        take, fork, resume = face.take, face.fork, face.resume

        def taking(job: str, request: TakeRequest) -> object:
            return take(job, request) if request.dry_run else self._copied("take", job, "", lambda: take(job, request))

        def forking(savepoint: str, request: ForkRequest) -> object:
            begin = lambda: fork(savepoint, request)  # noqa: E731
            return begin() if request.dry_run else self._copied("fork", request.name, savepoint, begin)

        def resuming(job: str, request: ResumeRequest) -> object:
            begin = lambda: resume(job, request)  # noqa: E731
            copies = request.from_savepoint and not request.dry_run
            return self._copied("resume", job, request.from_savepoint, begin) if copies else begin()

        vars(face).update(take=taking, fork=forking, resume=resuming)

    def finish(self) -> None:
        """All of it is copied."""
        self._ended.set()

    def _copied(self, kind: str, job: str, subject: str, act: Callable[[], T]) -> T:
        going = self._face._keep(samples.begun(self._face._id("op"), kind, job, subject))
        self.begun.set()
        while not self._ended.wait(PIECE_S):
            going = self._further(self._face.operations_by_id[going.id])
            if going.state is OperationState.CANCELLED:
                raise Conflict("operation.cancelled", "The operation was cancelled", "Begin it again.")
        done = act()
        self._face._keep(replace(going, state=OperationState.DONE, ended_ms=samples.NOW_MS, can_cancel=False))
        return done

    def _further(self, going: Operation) -> Operation:
        amount = going.amount
        if going.state is not OperationState.RUNNING or amount is None or amount.done >= amount.total * 7 // 10:
            return going
        return self._face._keep(replace(going, amount=replace(amount, done=amount.done + amount.total // PART)))
