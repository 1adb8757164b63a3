"""An operation followed to its end. Who leaves before (Ctrl-C, a closed terminal, `kill`) cancels it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

import typer

from pipelines.cli import output, progress
from pipelines.cli.session import POLL_SECONDS, Here
from pipelines.domain.errors import GROUPS, Conflict, TidemarkError
from pipelines.domain.operations import Operation, OperationState

T = TypeVar("T")
FIRST_LOOK_SECONDS = 0.01
AT_ONCE_SECONDS = 0.3
"""What answers within is not looked at: most of what is asked for does."""
Handler = Callable[[int, FrameType | None], object] | signal.Handlers
LEAVING: dict[signal.Signals, Handler] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
"""Signals that ask this process to end, with what they do by themselves."""


class BegunThenFailed(TidemarkError):
    """What was asked for was begun, and then it failed."""


def followed(here: Here, begin: Callable[[], Operation]) -> Operation:
    """The operation that `begin` begins, once it is done, its progress shown; raises what `begin` and `sound` raise.

    Ctrl-C, from before it begins, cancels it, waits until what it made is removed, and ends the command with exit code 130
    (128 + the signal's number). What was done before that could be asked for is done.
    """
    with _Leaving.heard() as leaving, progress.shown(lambda: here.session.now_ms, as_json=here.as_json) as show:
        ended = _waited(here, begin(), show, leaving)
    if ended.state is OperationState.RUNNING:
        _cancel(here, ended)
        ended = _waited(here, ended, lambda amount: None)
        if ended.state is OperationState.CANCELLED:
            raise _left(leaving, ended.kind)
    return sound(ended)


def answered(here: Here, call: Callable[[], T], works_as: Callable[[Operation], bool]) -> T:
    """What `call` answers. Where that takes longer it works as new operations that `works_as` knows, one after the other: each is shown,
    and cancelled, as `followed` does it."""
    known = {one.id for one in here.face.operations(running=True)}
    cancelled: dict[str, str] = {}
    with _Leaving.heard() as leaving, progress.shown(lambda: here.session.now_ms, as_json=here.as_json) as show:
        answer = ThreadPoolExecutor(1).submit(call)
        wait([answer], timeout=AT_ONCE_SECONDS)
        while not answer.done():
            begun = next((one for one in here.face.operations(running=True) if one.id not in known and works_as(one)), None)
            show(begun.amount if begun else None)
            if begun and leaving.number and begun.id not in cancelled:
                _cancel(here, begun)
                cancelled[begun.id] = begun.kind
            here.session.sleep(POLL_SECONDS)
            here.session.tick()
    error = answer.exception()
    if cancelled and isinstance(error, Conflict) and error.code == "operation.cancelled":
        raise _left(leaving, list(cancelled.values())[-1])
    return answer.result()


def sound(ended: Operation) -> Operation:
    """An ended operation that was done; else its error, in its own group (BegunThenFailed where it says none), or Conflict if cancelled."""
    if ended.state is OperationState.FAILED:
        raise GROUPS.get(ended.error_group, BegunThenFailed)(ended.error_code, ended.error_message, ended.error_hint)
    if ended.state is OperationState.CANCELLED:
        raise Conflict("operation.cancelled", f"the {ended.kind} was cancelled by somebody else", "Begin it again.")
    return ended


class _Leaving:
    """The signal that asked this process to end, 0 before. It interrupts no call: whoever waits looks at it. A second one does as ever."""

    def __init__(self) -> None:
        self.number = 0
        self._taken = [number for number, usual in LEAVING.items() if signal.getsignal(number) is usual]

    @classmethod
    @contextmanager
    def heard(cls) -> Iterator[_Leaving]:
        """Listens for the length of the block; what is ignored (`nohup`) stays so."""
        leaving = cls()
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
    """The operation when it has ended, or when somebody leaves; looked at more and more seldom, for many take no time."""
    pause = FIRST_LOOK_SECONDS
    while (seen := here.face.operation(operation.id)).state is OperationState.RUNNING and not (leaving and leaving.number):
        show(seen.amount)
        here.session.sleep(pause)
        here.session.tick()
        pause = min(POLL_SECONDS, pause * 2)
    return seen


def _cancel(here: Here, operation: Operation) -> None:
    """Asks it to end; Conflict (`operation.not_cancellable`) where it cannot be called back."""
    output.tell(f"cancelling the {operation.kind}; what it made is being removed")
    try:
        here.face.cancel(operation.id)
    except Conflict as error:
        if error.code != "operation.ended":
            raise


def _left(leaving: _Leaving, kind: str) -> typer.Exit:
    """The exit of somebody who left, and whose operation was cancelled."""
    output.tell(f"the {kind} was cancelled")
    return typer.Exit(128 + leaving.number)
