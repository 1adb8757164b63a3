"""Operations that stand still in the middle of a copy, so that a test can look at them and cancel them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from pipelines.domain.ids import JobName
from pipelines.domain.operations import Operation
from pipelines.workspace import operations
from pipelines.workspace.operations import Ticket
from pipelines.workspace.workspace import Workspace
from tests.waiting import until


class Gate:
    """Holds the first piece that the `skip`-th operation of `kind` after others copies, until it is let through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, face: Workspace, kind: str, skip: int = 0) -> None:
        self._face, self._kind, self._skip = face, kind, skip
        self._kinds: list[str] = []
        self._reached, self._open = threading.Event(), threading.Event()
        monkeypatch.setattr(operations, "NOTICED_S", 0)
        monkeypatch.setattr(operations, "cancellable", self._begun(operations.cancellable))
        monkeypatch.setattr(Ticket, "advance", self._advance(Ticket.advance))

    def _begun(self, cancellable: Callable[..., Operation]) -> Callable[..., Operation]:
        def beginning(context: object, kind: str, job: JobName, subject: str = "") -> Operation:
            self._kinds.append(kind)
            return cancellable(context, kind, job, subject)

        return beginning

    def _advance(self, advance: Callable[[Ticket, int], None]) -> Callable[[Ticket, int], None]:
        def advancing(ticket: Ticket, done: int) -> None:
            if self._kinds[-1] == self._kind and self._kinds.count(self._kind) == self._skip + 1:
                self._reached.set()
                assert self._open.wait(60)
            advance(ticket, done)

        return advancing

    @contextmanager
    def held(self, call: Callable[[], object]) -> Iterator[tuple[Operation, Future[object]]]:
        """The operation that `call` works as, standing still, and what `call` will answer; the gate opens at the end of the block."""
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(call)
            try:
                assert self._reached.wait(60)
                yield self._one(), answer
            finally:
                self._open.set()

    def _one(self) -> Operation:
        found: list[Operation] = []

        def seen() -> bool:
            found[:] = [one for one in self._face.operations(running=True) if one.kind == self._kind]
            return bool(found)

        until(seen)
        (one,) = found
        return one
