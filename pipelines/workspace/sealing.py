"""The sealer: a thread that computes the checksums of new savepoints, so that taking one costs nothing per byte."""

from __future__ import annotations

import threading

from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.ids import SavepointId
from pipelines.domain.trust import Trust
from pipelines.workspace import events, savepoints, verifications
from pipelines.workspace.parts import Parts


class Sealer:
    """Seals what is in `parts.unsealed`, one at a time, and what was left unsealed before it started."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        if self._thread is None:
            for savepoint in savepoints.newest_first(self._parts, ""):
                if savepoint.verified_ms is None:
                    self._parts.unsealed.put(savepoint.id)
            self._thread = threading.Thread(target=self._work, name="sealer", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the savepoint that it is at."""
        if self._thread is not None:
            self._parts.unsealed.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (savepoint := self._parts.unsealed.get()) is not None:
            self._seal(savepoint)

    def _seal(self, savepoint: SavepointId) -> None:
        """A savepoint that is gone by now needs no seal; any other failure is an event, and its next verify meets it again."""
        try:
            if savepoints.get(self._parts, savepoint).verified_ms is None:
                verifications.verify(self._parts, savepoint, Trust.INTACT)
        except NotFound:
            return
        except TidemarkError as error:
            events.say(self._parts, "savepoint.unsealed", None, savepoint, f"{savepoint} could not be sealed: {error.message}")
