"""Operations: work in a thread of its own that says how far it is and can be cancelled; its end is kept in the catalog.

What is under way is in memory alone: after a crash the opening finds the operation running and fails it (`cleaning`), and what the
work left half done is cleaned by the engine's own rules.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pipelines.catalog import operations as operation_rows
from pipelines.domain.errors import Conflict, TidemarkError
from pipelines.domain.ids import JobName, OperationId
from pipelines.domain.operations import Amount, Operation, OperationState
from pipelines.workspace.parts import Parts

log = logging.getLogger("tidemark.operations")
T = TypeVar("T")


class Cancelled(Conflict):
    """Raised inside of the work when somebody asked it to end."""


class Ticket:
    """What a piece of work says of itself while it runs. Every call raises `Cancelled` once its end was asked for."""

    def __init__(self) -> None:
        self._amount: Amount | None = None
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self.job = JobName("")
        """The job that the work is about, where only the work itself finds it out."""
        self.ended = threading.Event()

    @property
    def amount(self) -> Amount | None:
        return self._amount

    def step(self, step: str, total: int = 0, unit: str = "bytes") -> None:
        """A new step begins, of `total` units."""
        self.check()
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

    def end(self) -> None:
        """Asks the work to end at its next word."""
        self._ending.set()


Work = Callable[[Ticket], str]
"""Does the work and answers with the operation's result."""


def begin(parts: Parts, wanted: Operation, work: Work) -> Operation:
    """Starts `work` as `wanted` (in the state RUNNING); answers at once."""
    ticket = Ticket()
    save(parts, wanted)
    parts.under_way[wanted.id] = ticket
    threading.Thread(target=_carry, args=(parts, wanted, work, ticket), name=f"operation {wanted.id}", daemon=True).start()
    return get(parts, wanted.id)


def answered(parts: Parts, wanted: Operation, work: Callable[[Ticket], T], result: Callable[[T], str]) -> T:
    """What `work` answers, done as the operation `wanted` whose result is `result` of it; raises what it raises."""
    ended: list[T | BaseException] = []

    def working(ticket: Ticket) -> str:
        try:
            answer = work(ticket)
        except BaseException as error:
            ended.append(error)
            raise
        ended.append(answer)
        return result(answer)

    begin(parts, wanted, working)
    wait(parts, wanted.id)
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]


def wait(parts: Parts, operation: OperationId) -> Operation:
    """The operation when it has ended."""
    ticket = parts.under_way.get(operation)
    if ticket is not None:
        ticket.ended.wait()
    return get(parts, operation)


def _carry(parts: Parts, running: Operation, work: Work, ticket: Ticket) -> None:
    """Every end is an end that people see: what nobody expected is logged with its traceback, too."""
    try:
        ended = replace(running, state=OperationState.DONE, result=work(ticket), amount=ticket.amount)
    except Cancelled:
        ended = replace(running, state=OperationState.CANCELLED, amount=ticket.amount)
    except TidemarkError as error:
        ended = failed(running, error, 0)
    except Exception as error:
        log.exception("operation %s", running.id)
        ended = failed(running, TidemarkError("internal", f"{type(error).__name__}: {error}", "The server's log has the traceback."), 0)
    try:
        save(parts, replace(ended, job=ticket.job or ended.job, ended_ms=parts.now_ms(), can_cancel=False))
    finally:
        parts.under_way.pop(running.id, None)
        ticket.ended.set()


def get(parts: Parts, named: str) -> Operation:
    """The operation with how far it is now; NotFound (`operation.not_found`)."""
    with parts.catalog.reading() as reader:
        return _now(parts, operation_rows.get(reader, named))


def newest_first(parts: Parts, *, running: bool) -> Sequence[Operation]:
    with parts.catalog.reading() as reader:
        found = operation_rows.running(reader)[::-1] if running else operation_rows.newest(reader)
    return [_now(parts, operation) for operation in found]


def cancel(parts: Parts, named: str) -> Operation:
    """Asks it to end; the answer may still say that it runs. Conflict (`operation.ended`, `operation.not_cancellable`)."""
    operation = get(parts, named)
    if operation.state is not OperationState.RUNNING:
        raise Conflict("operation.ended", f"Operation {operation.id} has ended: {operation.state}", "Nothing is left to cancel.")
    ticket = parts.under_way.get(operation.id)
    if not operation.can_cancel or ticket is None:
        raise Conflict("operation.not_cancellable", f"A {operation.kind} cannot be called back", "Wait until it has ended.")
    ticket.end()
    return get(parts, operation.id)


def end_all(parts: Parts) -> None:
    """Asks all that is under way to end, and waits for it: the catalog is about to be closed."""
    for ticket in list(parts.under_way.values()):
        ticket.end()
        ticket.ended.wait()


def failed(running: Operation, error: TidemarkError, now_ms: int) -> Operation:
    return replace(
        running,
        state=OperationState.FAILED,
        ended_ms=now_ms,
        error_group=error.group,
        error_code=error.code,
        error_message=error.message,
        error_hint=error.hint,
    )


def save(parts: Parts, changed: Operation) -> None:
    with parts.catalog.writing() as writer:
        operation_rows.save(writer, [changed])


def _now(parts: Parts, operation: Operation) -> Operation:
    ticket = parts.under_way.get(operation.id)
    return operation if ticket is None else replace(operation, amount=ticket.amount, job=ticket.job or operation.job)
