"""Operations: work in a thread of its own that says how far it is and can be cancelled; its end is kept in the catalog.

What is under way is in memory alone: after a crash the opening finds the operation running and fails it (`cleanup`), and what the
work left half done is cleaned by the engine's own rules. Stops and changeovers are written down, and the next server goes on with them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pipelines.catalog import operations as operation_rows
from pipelines.catalog.connection import Kept
from pipelines.domain.applications import UNANSWERED_FILE, Unanswered
from pipelines.domain.errors import Conflict, NotFound, TidemarkError
from pipelines.domain.ids import JobName, OperationId
from pipelines.domain.operations import Amount, Operation, OperationState, failed, sound
from pipelines.storage.errors import disk_errors
from pipelines.verbs.declaration import answer_type, command_of
from pipelines.verbs.listing import MOST_ROWS
from pipelines.verbs.operations import CancelOperation, ListOperations, ReadAnswer, ShowOperation
from pipelines.verbs.stop import Stop
from pipelines.verbs.verb import Begun, Change, Works
from pipelines.workspace import audit, outcomes
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.notices import Notice
from pipelines.workspace.outcomes import Answer
from pipelines.workspace.tickets import Cancelled, Ticket

log = logging.getLogger("tidemark.operations")
T = TypeVar("T")
NOTICED_S = 0.5
"""Work that mostly takes no time is an operation from then on: sooner than anybody wonders, later than almost all of it ends."""
AT_ONCE_S = 0.8
"""Who asked for such work waits so long for its answer; then the operation is the answer."""
MOMENT_S = 0.05
"""Work that is always an operation may have ended within: what was done before is there at once."""
PAUSE_S = 0.1
USUAL_ROWS = 100


def begin(context: Context, change: Change[Any, Any], works: Works, work: Callable[[Ticket], Any]) -> Begun[Any]:
    """Starts `work` in a thread of its own. A change that is always followed answers with its operation; any other with what came of it
    where that is there at once, which raises what the work raised, else with the operation that it has become."""
    operation = replace(new(context, works), verb=command_of(change))
    ticket = Ticket(operation.id, context.files.check)
    is_its_own = answer_type(type(change)) is Operation
    answer = Answer(work, str if is_its_own else change.result)
    if not is_its_own:
        outcomes.keep(context.answers, operation.id, answer)
    notice = Notice(lambda: save(context, operation), NOTICED_S)
    if change.follows:
        notice.follow()
    _start(context, operation, answer.work, ticket, notice)
    has_ended = ticket.ended.wait(MOMENT_S if change.follows else AT_ONCE_S)
    if not change.follows and (has_ended or not notice.follow()):
        if not notice.is_written:
            context.answers.pop(operation.id, None)
        return Begun(change, answer=answer.read())
    return Begun(change, get(context, operation.id))


def noticed(context: Context, works: Works, work: Callable[[Ticket], T], result: Callable[[T], str]) -> T:
    """Runs `work` in the calling thread, and shows an operation if it takes over `NOTICED_S`; returns and raises what it does."""
    operation = new(context, works)
    answer, ticket, notice = (
        Answer(work, result),
        Ticket(operation.id, context.files.check),
        Notice(lambda: save(context, operation), NOTICED_S, is_followed=True),
    )
    context.under_way[operation.id] = ticket
    _carry(context, operation, answer.work, ticket, notice)
    return answer.read()


def carry_on(context: Context, left: Operation, work: Callable[[Ticket], str]) -> None:
    """Goes on with an operation that an earlier server has left, in a thread of its own."""
    _start(context, left, work, Ticket(left.id, context.files.check), None)


def _start(context: Context, operation: Operation, work: Callable[[Ticket], str], ticket: Ticket, notice: Notice | None) -> None:
    context.under_way[operation.id] = ticket
    carry = (context, operation, work, ticket, notice)
    threading.Thread(target=_carry, args=carry, name=f"operation {operation.id}", daemon=True).start()


def new(context: Context, works: Works) -> Operation:
    """An operation that is not begun yet."""
    operation_id = OperationId(context.new_id("o"))
    job = JobName(works.job)
    return Operation(
        operation_id, works.kind, job, OperationState.RUNNING, context.now_ms(), subject=works.subject, can_cancel=works.can_cancel
    )


def _carry(context: Context, running: Operation, work: Callable[[Ticket], str], ticket: Ticket, notice: Notice | None) -> None:
    """Does the work; saves the ended operation where its row is there (without a notice it is). Its end is written down unless that is
    the answer to who asked for it, of whom the call is."""
    try:
        ended = _ended(context, running, work, ticket)
        if notice is not None:
            notice.close()
        if (notice is None or notice.is_written) and not ticket.is_left:
            ended = replace(ended, job=ticket.job or ended.job, ended_ms=context.now_ms(), can_cancel=False)
            _save_end(context, ended, save if notice is None or notice.is_followed else _keep)
    finally:
        context.under_way.pop(running.id, None)
        ticket.ended.set()


def _save_end(context: Context, ended: Operation, save: Callable[[Context, Operation], None]) -> None:
    """Where the catalog takes nothing (a full disk) the end is known while this process lives; the next opening fails the operation."""
    try:
        save(context, ended)
    except TidemarkError:
        log.exception("the end of operation %s could not be kept", ended.id, extra={"job": ended.job or None})
        context.unsaved[ended.id] = ended


def _ended(context: Context, running: Operation, work: Callable[[Ticket], str], ticket: Ticket) -> Operation:
    """The ended operation, whatever the work raised; an unexpected error is also logged with its traceback."""
    try:
        with disk_errors(str(context.layout.root)):
            return replace(running, state=OperationState.DONE, result=work(ticket), amount=ticket.amount)
    except Cancelled:
        return replace(running, state=OperationState.CANCELLED, amount=ticket.amount)
    except TidemarkError as error:
        error.__traceback__ = None  # its frames hold what was planned
        return failed(running, error, 0)
    except Exception as error:
        log.exception("operation %s", running.id, extra={"job": running.job or None})
        return failed(running, TidemarkError("internal", f"{type(error).__name__}: {error}", "The server's log has the traceback."), 0)


def wait(context: Context, operation: OperationId) -> Operation:
    """The operation when it has ended; one that no work of this process carries is ended by the supervisor."""
    kept = Kept(context.catalog, lambda reader: operation_rows.get(reader, operation))
    while (current := context.unsaved.get(operation) or kept.now()).state is OperationState.RUNNING:
        ticket = context.under_way.get(operation)
        if ticket is None:
            time.sleep(PAUSE_S)
        else:
            ticket.ended.wait()
    return current


def answer(context: Context, begun: Begun[T]) -> T:
    """The answer of a change whose operation has ended; raises what it failed with."""
    if begun.operation is None:
        return begun.answer  # type: ignore[return-value]  # None where that is what the change answers
    ended = wait(context, begun.operation.id)
    if answer_type(type(begun.change)) is Operation:
        return sound(ended)  # type: ignore[return-value]
    answer: T = _read(context, ended)
    return answer


def _read(context: Context, ended: Operation) -> Any:
    answer = context.answers.get(ended.id)
    if answer is not None:
        return answer.read()
    sound(ended)
    if ended.kind in outcomes.kinds_that_answer():
        return ended
    message = f"The answer of operation {ended.id} is not kept any more; its result was {ended.result or 'empty'}"
    raise NotFound("operation.answer_gone", message, "Look at what it made: the job, or the savepoint.")


@answers(ReadAnswer)
def read_answer(context: Context, question: ReadAnswer) -> object:
    operation = get(context, question.operation)
    if operation.state is OperationState.RUNNING:
        raise Conflict("operation.running", f"Operation {operation.id} has not ended", "Follow it until it has.")
    return _read(context, operation)


def get(context: Context, operation_id: str) -> Operation:
    """The operation with how far it is now; NotFound (`operation.not_found`)."""
    with context.catalog.reading() as reader:
        return _now(context, operation_rows.get(reader, operation_id))


@answers(ShowOperation)
def show(context: Context, question: ShowOperation) -> Operation:
    return get(context, question.operation)


@answers(ListOperations)
def newest_first(context: Context, question: ListOperations) -> Sequence[Operation]:
    with context.catalog.reading() as reader:
        most = MOST_ROWS if question.is_narrowed else USUAL_ROWS
        listed = operation_rows.running(reader)[::-1] if question.running else operation_rows.newest(reader, most)
    return [_now(context, operation) for operation in listed]


@plans(CancelOperation)
def plan_cancel(context: Context, change: CancelOperation) -> Planned[Operation, Operation]:
    """Plans to cancel an operation; Conflict (`operation.ended`, `operation.not_cancellable`). The answer may still be `running`."""
    operation = get(context, change.operation)
    if operation.state is not OperationState.RUNNING:
        raise Conflict("operation.ended", f"Operation {operation.id} has ended: {operation.state}", "Nothing is left to cancel.")
    ticket = context.under_way.get(operation.id)
    if not operation.can_cancel or ticket is None:
        raise Conflict("operation.not_cancellable", f"A {operation.kind} cannot be cancelled", "Wait until it has ended.")
    return Planned(operation, lambda _: _cancel(context, operation, ticket))


def _cancel(context: Context, operation: Operation, ticket: Ticket) -> Operation:
    ticket.end()
    return get(context, operation.id)


def end_all(context: Context) -> None:
    """Cancels all running operations, and those that they begin, and waits for them: the catalog is about to be closed."""
    while under_way := list(context.under_way.values()):
        for ticket in under_way:
            ticket.end()
            ticket.ended.wait(PAUSE_S)


def save(context: Context, changed: Operation) -> None:
    """Keeps it, and writes its end down."""
    _keep(context, changed)
    audit.ended(context, changed)


def _keep(context: Context, changed: Operation) -> None:
    with context.catalog.writing() as writer:
        operation_rows.save(writer, [changed])


def _now(context: Context, operation: Operation) -> Operation:
    ticket = context.under_way.get(operation.id)
    if ticket is None:
        return _waiting(context, context.unsaved.get(operation.id, operation))
    return replace(operation, amount=ticket.amount, job=ticket.job or operation.job)


def _waiting(context: Context, operation: Operation) -> Operation:
    """A stop that does not reach its run, since the cluster or the job's home does not answer, with that as its step."""
    if operation.state is not OperationState.RUNNING or operation.kind not in Stop.kinds:
        return operation
    run = context.files.wanted(operation.job).run
    silence = run and context.files.find(Unanswered, context.layout.run(operation.job, run) / UNANSWERED_FILE)
    return replace(operation, amount=Amount(f"waits: {silence.message}")) if silence else operation
