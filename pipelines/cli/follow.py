"""Begins a change and follows it to its end. Ctrl-C, a closed terminal or `kill` cancels it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import typer

from pipelines.cli import output, progress
from pipelines.cli.session import Here
from pipelines.domain.errors import Conflict
from pipelines.domain.operations import Operation, OperationState, sound
from pipelines.verbs.declaration import answer_type
from pipelines.verbs.face import follow
from pipelines.verbs.operations import CancelOperation, ListOperations
from pipelines.verbs.verb import Begun, Change

A = TypeVar("A")
Handler = Callable[[int, FrameType | None], object] | signal.Handlers
LEAVING: dict[signal.Signals, Handler] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
"""Signals that ask this process to end, with what they do by themselves."""


def done(here: Here, change: Change[A, Any], *, timeout: float | None = None) -> A:
    """Begins a change and returns its answer; raises what `begin` and `answer` raise. Progress is shown while it runs.

    Ctrl-C, from before it begins, cancels its operation, waits until what it made is removed, and ends the command with exit code 130
    (128 + the signal's number). What was done before that could be asked for is done. With a `timeout` (seconds) it is waited for so long
    (Unavailable after that) and not cancelled: an operation that cannot be cancelled goes on.
    """
    with _Leaving.heard(change, timeout) as leaving, progress.shown(lambda: here.session.now_ms, as_json=here.as_json) as show:
        begun = here.face.begin(change)
        for warning in begun.warnings:
            output.tell(f"warning: {warning}")
        if begun.operation is None:
            here.session.tick()
            return here.face.answer(begun)
        ended = _waited_for(here, begun.operation, show, timeout) if timeout is not None else _waited(here, begun.operation, show, leaving)
    if ended.state is OperationState.RUNNING:
        _cancel(here, ended)
        ended = _waited(here, ended, lambda amount: None)
        if ended.state is OperationState.CANCELLED:
            raise _left(leaving, ended.kind)
    return _answer(here, begun, ended)


def _answer(here: Here, begun: Begun[A], ended: Operation) -> A:
    """The answer of a change that works as an operation."""
    if ended.state is OperationState.CANCELLED:
        raise Conflict("operation.cancelled", f"the {ended.kind} was cancelled by somebody else", "Begin it again.")
    if answer_type(type(begun.change)) is Operation:
        return sound(ended)  # type: ignore[return-value]
    answer = here.face.answer(begun)
    here.session.tick()
    return answer


class _Leaving:
    """The signal that ends this process, 0 before. It interrupts no call, the waiting loop reads it; a second signal acts as usual."""

    def __init__(self) -> None:
        self.number = 0
        self._taken = [number for number, usual in LEAVING.items() if signal.getsignal(number) is usual]

    @classmethod
    @contextmanager
    def heard(cls, change: Change[Any, Any], timeout: float | None) -> Iterator[_Leaving]:
        """Handles the signals during the block, where the change can be cancelled; ignored ones (`nohup`) stay ignored."""
        leaving = cls()
        if timeout is not None or not change.kinds:
            leaving._taken = []
        for number in leaving._taken:
            signal.signal(number, leaving._heard)
        try:
            yield leaving
        finally:
            leaving._as_ever()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._as_ever()

    def _as_ever(self) -> None:
        for number in self._taken:
            signal.signal(number, LEAVING[number])


def _waited(here: Here, operation: Operation, show: progress.Show, leaving: _Leaving | None = None) -> Operation:
    """Follows the operation until it has ended or a signal arrived."""
    current = operation
    for current in follow(here.face, operation.id, here.session.pause):
        if leaving and leaving.number:
            break
        show(current.amount)
    return current


def _waited_for(here: Here, operation: Operation, show: progress.Show, timeout: float) -> Operation:
    """Polls the operation until it has ended, and shows its progress or that of the savepoint it waits for. Unavailable after `timeout`."""
    output.tell(f"waiting for the {operation.kind} of {operation.job}")
    here.session.tick()

    def look(current: Operation) -> None:
        running = here.face.ask(ListOperations(running=True))
        beside = [other.amount for other in running if other.job == current.job and other.id != current.id]
        show(current.amount or next(filter(None, beside), None))

    return ended_within(here, operation.id, timeout, f"the {operation.kind} of {operation.job}", look)


def ended_within(
    here: Here, operation: str, timeout: float, what: str, look: Callable[[Operation], object] = lambda current: None
) -> Operation:
    """The operation once it has ended, with a `look` at it until then; Unavailable after `timeout` seconds."""
    end_ms = here.session.now_ms + timeout * 1_000
    for current in follow(here.face, operation, here.session.pause):
        if current.state is OperationState.RUNNING:
            look(current)
            here.session.refuse_late(end_ms, timeout, what)
    return current


def _cancel(here: Here, operation: Operation) -> None:
    """Cancels the operation; Conflict (`operation.not_cancellable`) where it cannot be cancelled."""
    output.tell(f"cancelling the {operation.kind}; what it made is being removed")
    try:
        here.face.begin(CancelOperation(operation.id))
    except Conflict as error:
        if error.code != "operation.ended":
            raise


def _left(leaving: _Leaving, kind: str) -> typer.Exit:
    """The exit after a signal, once the operation was cancelled."""
    output.tell(f"the {kind} was cancelled")
    return typer.Exit(128 + leaving.number)
