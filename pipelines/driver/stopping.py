"""The orderly end of a run: on SIGTERM, or when a query fails, its queries end between two batches, and then the script.

A handler of SIGTERM that the script sets is called then, not before: what it does, as a rule, is to stop the queries amid a batch.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

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

    def settle(self, wait_s: float) -> None:
        """Waits for a start that was in progress; after that none is, unless it takes longer than `wait_s`."""


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
        self._script_has = _ScriptsHandler()

    def listen(self, queries: Stoppable) -> None:
        """Takes SIGTERM over, in the main thread."""
        self._queries = queries
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGUSR1, self._leave)
        self._script_has.install()

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

    def _on_sigterm(self, signum: int, frame: FrameType | None) -> None:
        if self.requested:
            say("SIGTERM again: ending at once")
            self._on_kill()
            os._exit(KILLED_CODE)
        say("SIGTERM: stopping at the next batch boundary")
        self.requested = True
        if self._script_has.one or (self._queries is not None and self._queries.are_any):
            self.begin()
        else:
            self._leave(signum, frame)

    def _end(self) -> None:
        assert self._queries is not None
        deadline = time.monotonic() + self._grace_s
        self._queries.close()
        try:
            stop_at_boundary(self._queries.started, self._grace_s)
            self._queries.settle(max(AFTERWORK_S, deadline - time.monotonic()))
            late = [running for running in self._queries.started if running.query.isActive]
            stop_at_boundary(late, max(0.0, deadline - time.monotonic()))
        finally:
            self._interrupt_script()

    def _interrupt_script(self) -> None:
        if self.requested and self._script_has.one:
            _interrupt()
        if not self._script_over.wait(AFTERWORK_S):
            say("the script goes on although its queries have ended: interrupted")
            _interrupt()

    def _leave(self, signum: int, frame: FrameType | None) -> None:
        if self._script_over.is_set():
            return
        theirs = self._script_has.taken() if self.requested else None
        if theirs is None:
            raise SystemExit(0)
        with _other_connection():
            theirs(signal.SIGTERM, frame)


@contextmanager
def _other_connection() -> Iterator[None]:
    """Lets this thread call the JVM amid a call of its own: Py4J gives each thread one connection, which is read once at a time
    (`JavaClient.thread_connection`, PYSPARK_PIN_THREAD)."""
    from py4j.clientserver import ClientServer
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if not isinstance(gateway, ClientServer):
        yield
        return
    of_this_thread = vars(gateway._gateway_client.thread_connection)
    kept = dict(of_this_thread)
    of_this_thread.clear()
    try:
        yield
    finally:
        of_this_thread.clear()
        of_this_thread.update(kept)


class _ScriptsHandler:
    """The handler of SIGTERM that the script sets: kept beside the driver's, in place of which the script's code sees it."""

    def __init__(self) -> None:
        self._kept: Any = signal.SIG_DFL

    @property
    def one(self) -> bool:
        """Whether there is one; SIG_IGN is none, as a run can be stopped."""
        return callable(self._kept)

    def taken(self) -> Callable[[int, FrameType | None], object] | None:
        """It, once."""
        kept, self._kept = self._kept, signal.SIG_DFL
        return kept if callable(kept) else None

    def install(self) -> None:
        """Changes `signal.signal` and `signal.getsignal`."""
        sets, gets = signal.signal, signal.getsignal

        @functools.wraps(sets)
        def set_by_script(signalnum: int, handler: Any) -> Any:
            if signalnum != signal.SIGTERM or threading.current_thread() is not threading.main_thread():
                return sets(signalnum, handler)
            before, self._kept = self._kept, handler
            return before

        @functools.wraps(gets)
        def got_by_script(signalnum: int) -> Any:
            return self._kept if signalnum == signal.SIGTERM else gets(signalnum)

        signal.signal, signal.getsignal = set_by_script, got_by_script


def _interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)


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
