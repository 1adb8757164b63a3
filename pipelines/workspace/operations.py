"""Operations: work in a thread of its own that says how far it is and can be cancelled; its end is kept in the catalog.

What is under way is in memory alone: after a crash the opening finds the operation running and fails it (`cleaning`), and what the
work left half done is cleaned by the engine's own rules.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from pipelines.catalog import operations as operation_rows
from pipelines.domain.errors import Conflict, TidemarkError
from pipelines.domain.ids import JobName, OperationId
from pipelines.domain.operations import Amount, Operation, OperationState
from pipelines.workspace.parts import Parts

log = logging.getLogger("tidemark.operations")
T = TypeVar("T")
NOTICED_S = 0.5
"""Work that mostly takes no time is an operation from then on: sooner than anybody wonders, later than almost all of it ends."""
PAUSE_S = 0.1


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


def cancellable(parts: Parts, kind: str, job: JobName, subject: str = "") -> Operation:
    """A new operation, not begun yet, that can be called back."""
    named = OperationId(parts.new_id("o"))
    return Operation(named, kind, job, OperationState.RUNNING, parts.now_ms(), subject=subject, can_cancel=True)


def begin(parts: Parts, wanted: Operation, work: Work) -> Operation:
    """Starts `work` as `wanted` (in the state RUNNING); answers at once."""
    ticket = Ticket()
    save(parts, wanted)
    parts.under_way[wanted.id] = ticket
    threading.Thread(target=_carry, args=(parts, wanted, work, ticket), name=f"operation {wanted.id}", daemon=True).start()
    return get(parts, wanted.id)


def answered(parts: Parts, wanted: Operation, work: Callable[[Ticket], T], result: Callable[[T], str]) -> T:
    """What `work` answers, done as the operation `wanted` whose result is `result` of it; raises what it raises."""
    kept = _Kept(work, result)
    begin(parts, wanted, kept.work)
    wait(parts, wanted.id)
    return kept.answer()


def noticed(parts: Parts, wanted: Operation, work: Callable[[Ticket], T], result: Callable[[T], str]) -> T:
    """The same for work that mostly takes no time: whoever asks does it, and it is an operation once it has taken `NOTICED_S`."""
    kept, ticket, notice = _Kept(work, result), Ticket(), _Notice(parts, wanted)
    parts.under_way[wanted.id] = ticket
    try:
        _carry(parts, wanted, kept.work, ticket, notice.written)
    finally:
        notice.written()
    return kept.answer()


class _Kept(Generic[T]):
    """Work whose answer, or error, is kept beside the operation that it is done as."""

    def __init__(self, work: Callable[[Ticket], T], result: Callable[[T], str]) -> None:
        self._work, self._result = work, result
        self._ended: list[T | BaseException] = []

    def work(self, ticket: Ticket) -> str:
        try:
            answer = self._work(ticket)
        except BaseException as error:
            self._ended.append(error)
            raise
        self._ended.append(answer)
        return self._result(answer)

    def answer(self) -> T:
        """Raises what the work raised."""
        ended = self._ended[0]
        if isinstance(ended, BaseException):
            raise ended
        return ended


class _Notice:
    """The row of an operation, written once that has taken some time."""

    def __init__(self, parts: Parts, wanted: Operation) -> None:
        self._parts, self._wanted, self._written = parts, wanted, False
        self._timer = threading.Timer(NOTICED_S, self._write)
        self._timer.daemon = True
        self._timer.start()

    def _write(self) -> None:
        self._written = True
        save(self._parts, self._wanted)

    def written(self) -> bool:
        """Whether it was; it is not from here on."""
        self._timer.cancel()
        self._timer.join()
        return self._written


def wait(parts: Parts, operation: OperationId) -> Operation:
    """The operation when it has ended."""
    ticket = parts.under_way.get(operation)
    if ticket is not None:
        ticket.ended.wait()
    return get(parts, operation)


def _carry(parts: Parts, running: Operation, work: Work, ticket: Ticket, is_seen: Callable[[], bool] = lambda: True) -> None:
    """Does the work; its end is kept where the operation `is_seen`."""
    try:
        ended = _ended(running, work, ticket)
        if is_seen():
            save(parts, replace(ended, job=ticket.job or ended.job, ended_ms=parts.now_ms(), can_cancel=False))
    finally:
        parts.under_way.pop(running.id, None)
        ticket.ended.set()


def _ended(running: Operation, work: Work, ticket: Ticket) -> Operation:
    """Every end is an end that people see: what nobody expected is logged with its traceback, too."""
    try:
        return replace(running, state=OperationState.DONE, result=work(ticket), amount=ticket.amount)
    except Cancelled:
        return replace(running, state=OperationState.CANCELLED, amount=ticket.amount)
    except TidemarkError as error:
        return failed(running, error, 0)
    except Exception as error:
        log.exception("operation %s", running.id)
        return failed(running, TidemarkError("internal", f"{type(error).__name__}: {error}", "The server's log has the traceback."), 0)


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
    """Asks all that is under way to end, what that begins on its way too, and waits for it: the catalog is about to be closed."""
    while under_way := list(parts.under_way.values()):
        for ticket in under_way:
            ticket.end()
            ticket.ended.wait(PAUSE_S)


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
