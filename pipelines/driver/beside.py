"""A thread that does small things now and then, beside the script and its queries."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from pipelines.driver.records import say

EVERY_S = 1.0
Errand = Callable[[], None]


class Beside:
    """Runs errands again and again until it is closed. One that fails is told of in the log, and run no more; the others go on."""

    def __init__(self, *errands: Errand, every_s: float = EVERY_S) -> None:
        self._errands = list(errands)
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="tidemark-beside", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Returns when no errand runs any more: the JVM may end now."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while not self._over.wait(self._every_s):
            for errand in tuple(self._errands):
                self._run(errand)

    def _run(self, errand: Errand) -> None:
        try:
            errand()
        except Exception:  # noqa: BLE001  as said: it keeps neither the job nor the others from going on
            self._errands.remove(errand)
            if not self._over.is_set():
                traceback.print_exc()
                say(f"{errand.__qualname__} failed and is not done any more in this run")
