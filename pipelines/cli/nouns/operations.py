"""Operations as text, and the one that is cancelled waited for."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.cli import output
from pipelines.cli.additions import Shown, plans, shows
from pipelines.cli.follow import ended_within
from pipelines.cli.nouns.stops import within
from pipelines.cli.progress import Course
from pipelines.cli.session import Here
from pipelines.domain.errors import Conflict
from pipelines.domain.operations import Operation, OperationState, sound
from pipelines.verbs.operations import CancelOperation, ListOperations
from pipelines.words import formats


@shows(ListOperations)
def _operations(here: Here, question: ListOperations, operations: Sequence[Operation]) -> str | output.Table:
    return _table(operations, here.session.now_ms) if operations else ""


@plans(CancelOperation)
def _cancels(here: Here, change: CancelOperation, operation: Operation) -> output.Table:
    """The operation as it is now."""
    return _table([operation], here.session.now_ms)


@shows(CancelOperation, timeout=within(60))
def _cancelled(here: Here, change: CancelOperation, operation: Operation) -> Shown:
    """Waits for the cancelled operation; Conflict where it was done before, or the error that it failed with."""
    last = ended_within(here, change.operation, here.words["timeout"], f"the end of the {operation.kind}")
    if last.state is OperationState.DONE:
        raise Conflict("operation.ended", f"the {last.kind} was done before it could be cancelled", "Its result is there.")
    if last.state is OperationState.FAILED:
        sound(last)
    output.tell(f"the {last.kind} was cancelled")
    return Shown(last, "")


def _table(operations: Sequence[Operation], now_ms: int) -> output.Table:
    titles = ("OPERATION", "KIND", "STATE", "JOB", "SUBJECT", "BEGAN>", "TOOK>", "PROGRESS", "RESULT")
    return output.Table(titles, [_row(operation, now_ms) for operation in operations])


def _row(operation: Operation, now_ms: int) -> tuple[str, ...]:
    running = operation.state is OperationState.RUNNING
    far = Course(lambda: now_ms).line(operation.amount) if running and operation.amount else formats.MISSING
    return (
        operation.id,
        operation.kind,
        operation.state.value,
        operation.job or formats.MISSING,
        operation.subject or formats.MISSING,
        formats.ago(operation.created_ms, now_ms),
        formats.duration((operation.ended_ms or now_ms) - operation.created_ms),
        far,
        operation.result or operation.error_message[:100] or formats.MISSING,
    )
