"""Verbs of operations: operations, cancel-operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.following import sound
from pipelines.cli.progress import Course
from pipelines.cli.session import opened
from pipelines.domain.errors import Conflict
from pipelines.domain.operations import Operation, OperationState


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    app.command()(operations)
    app.command()(cancel_operation)


def operations(
    ctx: typer.Context,
    running: Annotated[bool, typer.Option("--running", help="Only those under way.")] = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """List operations, newest first. Stops, verifications, readings of state, exports, imports and copies, with how far they are."""
    with opened(ctx, workspace, as_json) as here:
        known = here.face.operations(running=running)
        here.show(known, _table(known, here.session.now_ms) if known else "")


def cancel_operation(
    ctx: typer.Context,
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="Id of an operation under way.", show_default=False)],
    timeout: options.Timeout = 60,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Cancel an operation under way. What it made is removed; waits for that. ('cancel' ends a job.)"""
    with opened(ctx, workspace, as_json) as here:

        def ended() -> Operation | None:
            seen = here.face.operation(operation)
            return None if seen.state is OperationState.RUNNING else seen

        asked = here.face.cancel(operation)
        last = here.session.until(ended, timeout, f"the end of the {asked.kind}")
        if last.state is OperationState.DONE:
            raise Conflict("operation.ended", f"the {last.kind} was done before it could be cancelled", "Its result is there.")
        if last.state is OperationState.FAILED:
            sound(last)
        output.tell(f"the {last.kind} was cancelled")
        here.show(last, "")


def _table(known: Sequence[Operation], now_ms: int) -> output.Table:
    titles = ("OPERATION", "KIND", "STATE", "JOB", "SUBJECT", "BEGAN>", "TOOK>", "PROGRESS", "RESULT")
    return output.Table(titles, [_row(one, now_ms) for one in known])


def _row(one: Operation, now_ms: int) -> tuple[str, ...]:
    running = one.state is OperationState.RUNNING
    far = f"{one.amount.step}: {Course(lambda: now_ms).said(one.amount)}" if running and one.amount else formats.NOTHING
    return (
        one.id,
        one.kind,
        one.state.value,
        one.job or formats.NOTHING,
        one.subject or formats.NOTHING,
        formats.ago(one.created_ms, now_ms),
        formats.duration((one.ended_ms or now_ms) - one.created_ms),
        far,
        one.result or one.error_message[:100] or formats.NOTHING,
    )
