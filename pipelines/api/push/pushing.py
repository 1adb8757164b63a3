"""Pushes metrics for as long as a server runs: a thread of each receiver, so that one that is away or slow holds up nobody."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from pipelines.api import metrics
from pipelines.api.push.otlp import OtlpReceiver
from pipelines.api.push.receiver import Receiver
from pipelines.api.push.settings import Chosen
from pipelines.api.push.statsd import StatsdReceiver
from pipelines.domain.errors import TidemarkError
from pipelines.domain.pushes import Push
from pipelines.verbs.face import Face

FIRST_S = 2.0
"""The first push waits so long, or its interval if that is shorter: a server that starts has other work."""
PATIENCE_S = 1.0
"""A server that ends waits so long for a push that is under way."""
Note = Callable[[Push], None]
log = logging.getLogger("tidemark.push")


class Pusher:
    """Pushes to one receiver, which `opened` makes in this pusher's own thread."""

    def __init__(self, push: Push, opened: Callable[[], Receiver]) -> None:
        self._push, self._opened = push, opened
        self._receiver: Receiver | None = None
        self._ended = threading.Event()

    @contextmanager
    def running(self, face: Face, note: Note) -> Iterator[None]:
        """Pushes until the block ends. `note` is called with what became of each push."""
        self._tell(note)
        thread = threading.Thread(target=self._work, args=(face, note), name=f"push {self._push.kind}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            if self._receiver is not None:
                self._receiver.close()
            thread.join(PATIENCE_S)

    def _work(self, face: Face, note: Note) -> None:
        wait_s = min(FIRST_S, self._push.every_s)
        while not self._ended.wait(wait_s):
            began_s = time.monotonic()
            self._push = self._pushed(face)
            if not self._ended.is_set():
                self._tell(note)
            wait_s = max(0.0, self._push.every_s - (time.monotonic() - began_s))
        if self._receiver is not None:
            self._receiver.close()

    def _tell(self, note: Note) -> None:
        try:
            note(self._push)
        except TidemarkError:  # a disk that is full, say: figures are pushed all the same
            log.exception("what became of a push could not be noted")

    def _pushed(self, face: Face) -> Push:
        try:
            if self._receiver is None:
                self._receiver = self._opened()
            self._receiver.send(metrics.readings(face))
        except TidemarkError as error:
            return self._push.failed(_now_ms(), error.message)
        except Exception as error:  # noqa: BLE001  what a library lets through is shown as any other error of a push
            return self._push.failed(_now_ms(), f"{type(error).__name__}: {error}")
        return self._push.arrived(_now_ms())


@contextmanager
def pushing(chosen: Chosen, face: Face, workspace_id: str, note: Note) -> Iterator[None]:
    """Pushes to all that is chosen until the block ends."""
    with ExitStack() as stack:
        for pusher in pushers(chosen, workspace_id):
            stack.enter_context(pusher.running(face, note))
        yield


def pushers(chosen: Chosen, workspace_id: str) -> list[Pusher]:
    """One for each receiver."""
    all_of = []
    if chosen.otlp:
        all_of.append(Pusher(Push("OTLP", chosen.otlp.address, chosen.otlp.every_s), partial(OtlpReceiver, chosen.otlp, workspace_id)))
    if chosen.statsd:
        all_of.append(Pusher(Push("StatsD", chosen.statsd.address, chosen.statsd.every_s), partial(StatsdReceiver, chosen.statsd)))
    return all_of


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
