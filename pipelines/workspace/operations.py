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
from pipelines.workspace.context import Context

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


def cancellable(context: Context, kind: str, job: JobName, subject: str = "") -> Operation:
    """A new operation, not begun yet, that can be called back."""
    named = OperationId(context.new_id("o"))
    return Operation(named, kind, job, OperationState.RUNNING, context.now_ms(), subject=subject, can_cancel=True)


def begin(context: Context, wanted: Operation, work: Work) -> Operation:
    """Starts `work` as `wanted` (in the state RUNNING); answers at once."""
    ticket = Ticket()
    save(context, wanted)
    context.under_way[wanted.id] = ticket
    threading.Thread(target=_carry, args=(context, wanted, work, ticket), name=f"operation {wanted.id}", daemon=True).start()
    return get(context, wanted.id)


def answered(context: Context, wanted: Operation, work: Callable[[Ticket], T], result: Callable[[T], str]) -> T:
    """What `work` answers, done as the operation `wanted` whose result is `result` of it; raises what it raises."""
    kept = _Kept(work, result)
    begin(context, wanted, kept.work)
    wait(context, wanted.id)
    return kept.answer()


def noticed(context: Context, wanted: Operation, work: Callable[[Ticket], T], result: Callable[[T], str]) -> T:
    """The same for work that mostly takes no time: whoever asks does it, and it is an operation once it has taken `NOTICED_S`."""
    kept, ticket, notice = _Kept(work, result), Ticket(), _Notice(context, wanted)
    context.under_way[wanted.id] = ticket
    try:
        _carry(context, wanted, kept.work, ticket, notice.written)
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

    def __init__(self, context: Context, wanted: Operation) -> None:
        self._context, self._wanted, self._written = context, wanted, False
        self._timer = threading.Timer(NOTICED_S, self._write)
        self._timer.daemon = True
        self._timer.start()

    def _write(self) -> None:
        self._written = True
        save(self._context, self._wanted)

    def written(self) -> bool:
        """Whether it was; it is not from here on."""
        self._timer.cancel()
        self._timer.join()
        return self._written


def wait(context: Context, operation: OperationId) -> Operation:
    """The operation when it has ended."""
    ticket = context.under_way.get(operation)
    if ticket is not None:
        ticket.ended.wait()
    return get(context, operation)


def _carry(context: Context, running: Operation, work: Work, ticket: Ticket, is_seen: Callable[[], bool] = lambda: True) -> None:
    """Does the work; its end is kept where the operation `is_seen`."""
    try:
        ended = _ended(running, work, ticket)
        if is_seen():
            save(context, replace(ended, job=ticket.job or ended.job, ended_ms=context.now_ms(), can_cancel=False))
    finally:
        context.under_way.pop(running.id, None)
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


def get(context: Context, named: str) -> Operation:
    """The operation with how far it is now; NotFound (`operation.not_found`)."""
    with context.catalog.reading() as reader:
        return _now(context, operation_rows.get(reader, named))


def newest_first(context: Context, *, running: bool) -> Sequence[Operation]:
    with context.catalog.reading() as reader:
        found = operation_rows.running(reader)[::-1] if running else operation_rows.newest(reader)
    return [_now(context, operation) for operation in found]


def cancel(context: Context, named: str) -> Operation:
    """Asks it to end; the answer may still say that it runs. Conflict (`operation.ended`, `operation.not_cancellable`)."""
    operation = get(context, named)
    if operation.state is not OperationState.RUNNING:
        raise Conflict("operation.ended", f"Operation {operation.id} has ended: {operation.state}", "Nothing is left to cancel.")
    ticket = context.under_way.get(operation.id)
    if not operation.can_cancel or ticket is None:
        raise Conflict("operation.not_cancellable", f"A {operation.kind} cannot be called back", "Wait until it has ended.")
    ticket.end()
    return get(context, operation.id)


def end_all(context: Context) -> None:
    """Asks all that is under way to end, what that begins on its way too, and waits for it: the catalog is about to be closed."""
    while under_way := list(context.under_way.values()):
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


def save(context: Context, changed: Operation) -> None:
    with context.catalog.writing() as writer:
        operation_rows.save(writer, [changed])


def _now(context: Context, operation: Operation) -> Operation:
    ticket = context.under_way.get(operation.id)
    return operation if ticket is None else replace(operation, amount=ticket.amount, job=ticket.job or operation.job)
