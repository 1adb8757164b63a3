"""The sealer: a thread that computes the checksums of new savepoints, so that taking one costs nothing per byte."""

from __future__ import annotations

import threading

from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.ids import SavepointId
from pipelines.workspace import events, savepoints, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Cancelled, Ticket


class Sealer:
    """Seals the savepoints in `context.unsealed`, one at a time, and those left unsealed before it started."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._thread: threading.Thread | None = None
        self._ticket = Ticket()
        """Ended when the thread is to end."""

    @property
    def running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        if self._thread is None:
            for savepoint in savepoints.newest_first(self._context, ""):
                if savepoint.verified_ms is None:
                    self._context.unsealed.put(savepoint.id)
            self._ticket = Ticket()
            self._thread = threading.Thread(target=self._work, name="sealer", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread, also in the middle of a savepoint: the next start seals that."""
        if self._thread is not None:
            self._ticket.end()
            self._context.unsealed.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (savepoint := self._context.unsealed.get()) is not None:
            self._seal(savepoint)

    def _seal(self, savepoint: SavepointId) -> None:
        """Seals one savepoint unless it was disposed of; any other failure becomes an event, and the next verify tries again."""
        if self._context.files.home(savepoint) is not None:  # its bytes stay where they are; a verification reads them when asked to
            return
        try:
            if savepoints.get(self._context, savepoint).verified_ms is None:
                verifications.seal(self._context, savepoint, self._ticket)
        except (NotFound, Cancelled):
            return
        except TidemarkError as error:
            events.say(self._context, "savepoint.unsealed", None, savepoint, f"{savepoint} could not be sealed: {error.message}")
