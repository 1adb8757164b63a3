"""Operations that stand still in the middle of a copy, so that a test can look at them and cancel them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import pytest

from pipelines.domain.operations import Operation
from pipelines.savepoint.clone import COPYING
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.verb import Works
from pipelines.workspace import operations
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket
from pipelines.workspace.workspace import Workspace
from tests.waiting import until

A = TypeVar("A")


class Gate:
    """Holds the next operation of `kind` at the first piece of its `skip`-th copy after others, until it is let through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, face: Workspace, kind: str, skip: int = 0) -> None:
        self._face, self._kind, self._left = face, kind, skip + 1
        self._operation = ""
        self._reached, self._open = threading.Event(), threading.Event()
        monkeypatch.setattr(operations, "NOTICED_S", 0)
        monkeypatch.setattr(operations, "new", self._new(operations.new))
        monkeypatch.setattr(Ticket, "step", self._step(Ticket.step))
        monkeypatch.setattr(Ticket, "advance", self._advance(Ticket.advance))

    def _new(self, new: Callable[[Context, Works], Operation]) -> Callable[[Context, Works], Operation]:
        def beginning(context: Context, works: Works) -> Operation:
            operation = new(context, works)
            if works.kind == self._kind and not self._operation:
                self._operation = operation.id
            return operation

        return beginning

    def _step(self, step: Callable[..., None]) -> Callable[..., None]:
        def stepping(ticket: Ticket, named: str, total: int = 0, unit: str = "bytes") -> None:
            self._left -= ticket.operation == self._operation and named == COPYING
            step(ticket, named, total, unit)

        return stepping

    def _advance(self, advance: Callable[[Ticket, int], None]) -> Callable[[Ticket, int], None]:
        def advancing(ticket: Ticket, done: int) -> None:
            if ticket.operation == self._operation and self._left == 0:
                self._reached.set()
                assert self._open.wait(60)
            advance(ticket, done)

        return advancing

    @contextmanager
    def held(self, call: Callable[[], A]) -> Iterator[tuple[Operation, Future[A]]]:
        """The operation that `call` works as, standing still, and what `call` will answer; the gate opens at the end of the block."""
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(call)
            try:
                assert self._reached.wait(60)
                until(self._running)
                yield self._running()[0], answer
            finally:
                self._open.set()

    def _running(self) -> list[Operation]:
        return [operation for operation in self._face.ask(ListOperations(running=True)) if operation.id == self._operation]
