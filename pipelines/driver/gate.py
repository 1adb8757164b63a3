"""Holds a query before each batch that it would plan, until its leader's batch of that number is there.

Spark's stream thread takes the query's progress lock to plan a batch, to commit it, and when the trigger is over. The lock is fair: who
has waited longest gets it. Two threads here take it in turn, and neither gives it back before the other waits for it: so between any two
times that the stream's thread has the lock, one of ours has it, and no batch is planned that this has not seen.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from pipelines.domain.errors import TidemarkError
from pipelines.driver.boundary import stream_state
from pipelines.driver.imposition import impose
from pipelines.driver.lead import LeadQuery
from pipelines.driver.records import say

POLL_S = 0.005
WAIT_S = 0.1
"""How often a follower that waits for its leader looks."""
HOLD_S = 60.0
"""How long taking hold of a query that starts may last."""


IDLE_EVERY_S = 10.0
"""How often it is said of a query that waits, as Spark does of others (`spark.sql.streaming.noDataProgressEventInterval`)."""


class Gate:
    """The gate of one query. `failed` is called with the error for which it ended the query, `idle` again and again while it waits."""

    def __init__(self, name: str, execution: Any, lead: LeadQuery, failed: Callable[[Exception], None], idle: Callable[[], None]) -> None:
        self._name = name
        self._execution = execution
        self._lead = lead
        self._failed = failed
        self._idle = idle
        self._lock = execution.awaitProgressLock()
        self._stream = execution.queryExecutionThread()
        self._active = stream_state(execution, "ACTIVE")
        self._terminated = stream_state(execution, "TERMINATED")
        self._closing = threading.Event()
        self._over = threading.Event()
        self._held = threading.Event()
        self._threads: list[Any] = [None, None]
        """Of the JVM: those of our two threads."""
        self._both = threading.Barrier(2)

    def hold(self) -> None:
        """Takes hold of a query whose stream has not begun; TimeoutError where that fails."""
        for me in (0, 1):
            threading.Thread(target=self._keep, args=(me,), name=f"lock-step {me} of {self._name}", daemon=True).start()
        if not self._held.wait(HOLD_S):
            raise TimeoutError(f"query {self._name} could not be held before its first batch")

    def close(self) -> None:
        """Ends the query: at once where it waits for its leader, else after the batch that it runs."""
        self._closing.set()

    def _keep(self, me: int) -> None:
        from pyspark import SparkContext

        self._threads[me] = SparkContext._jvm.java.lang.Thread.currentThread()
        self._both.wait()
        if me == 1:
            self._held.wait()
        while not self._over.is_set():
            self._lock.lock()
            try:
                self._held.set()
                self._turn(self._threads[1 - me])
            finally:
                self._lock.unlock()

    def _turn(self, other: Any) -> None:
        """One time of having the lock, until the stream's thread and our other one wait for it, or the stream is over."""
        while not self._over.is_set() and not self._lock.hasQueuedThread(self._stream):
            if not self._stream.isAlive() and self._execution.state().get().equals(self._terminated):
                self._over.set()
                return
            time.sleep(POLL_S)
        if not self._over.is_set():
            try:
                self._let_on()
            except Exception as error:  # noqa: BLE001  whatever happens, the query must not plan by itself
                self._fail(error)
        while not self._over.is_set() and not self._lock.hasQueuedThread(other):
            time.sleep(POLL_S / 5)

    def _let_on(self) -> None:
        """What the stream's thread, which waits for the lock, shall find."""
        context = self._execution.getLatestExecutionContext()
        if context is None:  # it failed before it had a first batch
            return
        if not self._execution.status().isTriggerActive():
            if self._closing.is_set() or (self._lead.until is not None and context.batchId() >= self._lead.until):
                self._end()
            return
        if context.isCurrentBatchConstructed():
            return
        said_s = time.monotonic()
        while not self._closing.is_set() and self._execution.state().get().equals(self._active):
            planned = self._lead.planned(context.batchId())
            if planned is not None:
                impose(self._execution, context, self._lead, planned)
                return
            if time.monotonic() - said_s >= IDLE_EVERY_S:
                said_s = time.monotonic()
                self._idle()
            self._closing.wait(WAIT_S)
        self._end(context)

    def _end(self, context: Any = None) -> None:
        """No further trigger. A batch that is about to be planned (`context`) is called planned: Spark gives up a batch of a query that is
        not active any more (SPARK-57963), and so plans none."""
        self._execution.state().set(self._terminated)
        if context is not None:
            context.__getattr__("isCurrentBatchConstructed_$eq")(True)
        self._over.set()

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, TidemarkError):
            traceback.print_exc()
        say(f"query {self._name} can no longer follow: {error}")
        self._failed(error)
        context = self._execution.getLatestExecutionContext()
        self._end(None if context is None or context.isCurrentBatchConstructed() else context)
