"""The orderly end of a run: on SIGTERM, or when a query fails, its queries end between two batches, and then the script."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from pipelines.domain.processes import TERMINATED_FILE
from pipelines.driver.boundary import stop_at_boundary
from pipelines.driver.records import say
from pipelines.driver.running import Running

GRACE_VARIABLE = "TIDEMARK_STOP_GRACE_S"
GRACE_S = 120.0
AFTERWORK_S = 5.0
"""What a script may still do after its queries have ended, before it is interrupted."""
KILLED_CODE = 128 + signal.SIGTERM


class Stoppable(Protocol):
    """The queries that a stop ends."""

    @property
    def started(self) -> Sequence[Running]:
        """In order of start; some may have ended."""

    @property
    def are_any(self) -> bool:
        """Whether any has started, also where all have ended."""

    def close(self) -> None:
        """Lets no further query start."""


class Stop:
    """SIGTERM, and a query's failure, as one orderly end; it works in a thread of its own, beside the waiting script."""

    def __init__(self, grace_s: float, on_kill: Callable[[], None]) -> None:
        self.requested = False
        self._grace_s = grace_s
        self._on_kill = on_kill
        self._queries: Stoppable | None = None
        self._script_over = threading.Event()
        self._lock = threading.RLock()
        """Held by the main thread too, whose signal handler may come in while it holds it."""
        self._thread: threading.Thread | None = None

    def listen(self, queries: Stoppable) -> None:
        """Takes SIGTERM over, in the main thread."""
        self._queries = queries
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGUSR1, self._leave)

    def script_over(self) -> None:
        """Ends the interruption of the script, and waits for a stop in progress."""
        with self._lock:
            self._script_over.set()
        if self._thread is not None:
            self._thread.join()

    def begin(self) -> None:
        """Starts the orderly end, once; after the script's end the driver itself does it."""
        with self._lock:
            if self._thread is None and not self._script_over.is_set():
                self._thread = threading.Thread(target=self._end, name="tidemark-stop", daemon=True)
                self._thread.start()

    def _on_sigterm(self, signum: int, frame: object) -> None:
        if self.requested:
            say("SIGTERM again: ending at once")
            self._on_kill()
            os._exit(KILLED_CODE)
        say("SIGTERM: stopping at the next batch boundary")
        self.requested = True
        if self._queries is not None and self._queries.are_any:
            self.begin()
        else:
            self._leave(signum, frame)

    def _end(self) -> None:
        assert self._queries is not None
        self._queries.close()
        try:
            stop_at_boundary(self._queries.started, self._grace_s)
        finally:
            self._interrupt_script()

    def _interrupt_script(self) -> None:
        if not self._script_over.wait(AFTERWORK_S):
            say("the script goes on although its queries have ended: interrupted")
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def _leave(self, signum: int, frame: object) -> None:
        if not self._script_over.is_set():
            raise SystemExit(0)


class ToldByFile:
    """The same, told by a server of another host, whose signals do not reach this process: by a file in the run's folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / TERMINATED_FILE
        self._is_told = False

    def look(self) -> None:
        """Sends the signal to this process, once."""
        if not self._is_told and self._file.exists() and json.loads(self._file.read_text()).get("by_file"):
            self._is_told = True
            os.kill(os.getpid(), signal.SIGTERM)


def grace_s() -> float:
    """How long a batch may take before a stop interrupts it."""
    return float(os.environ.get(GRACE_VARIABLE, GRACE_S))
