"""Asks the sources of all savepoints what they still hold, in a thread of its own: lists show what was answered last."""

from __future__ import annotations

import logging
import threading
import time

from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.workspace import events, holdings, homes, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.holdings import Asking

log = logging.getLogger("tidemark.holdings")
INTERVAL_S = 60.0
REST = 20
"""A round that took long is followed by a rest that is so many times as long."""


class Asker:
    """Asks for the savepoints of one workspace, newest first."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._ended = threading.Event()
        self._complained: dict[SavepointId, str] = {}
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="holdings", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends after the savepoint that is being asked for."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def tick(self) -> None:
        """One round over all savepoints. What keeps one from it is an event, once, and does not keep the others."""
        asking = Asking(self._context.now_ms())
        for savepoint in homes.reachable(self._context, savepoints.newest_first(self._context, "")):
            if self._ended.is_set():
                return
            self._ask(savepoint, asking)

    def _ask(self, savepoint: Savepoint, asking: Asking) -> None:
        try:
            holdings.asked_again(self._context, savepoint.id, asking)
            self._complained.pop(savepoint.id, None)
        except NotFound:
            return
        except TidemarkError as error:
            if self._complained.get(savepoint.id) != error.message:
                self._complained[savepoint.id] = error.message
                message = f"the sources of {savepoint.id} could not be asked: {error.message}. {error.hint}"
                events.say(self._context, "supervisor.failed", savepoint.job, savepoint.id, message)

    def _work(self) -> None:
        while not self._ended.is_set():
            began_s = time.monotonic()
            try:
                self.tick()
            except Exception:
                log.exception("a round failed")
            self._ended.wait(max(INTERVAL_S, REST * (time.monotonic() - began_s)))
