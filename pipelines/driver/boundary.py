"""Stops queries at their batch boundary: what was planned is committed, and nothing more is planned.

Spark's own `stop()` interrupts the batch. A query whose state (`StreamExecution.state`) says that it is terminated begins no further
trigger; but since Spark 4.3 (SPARK-57963, `MicroBatchExecution.runBatch`) it also gives up a batch that is planned and has not begun. So
the state is set where no batch can be between the two. That is known while the query's progress lock is held, which the stream's thread
takes when it plans a batch, when it commits the batch, and when the trigger is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

from pipelines.driver.records import say
from pipelines.driver.running import Running

POLL_S = 0.02
TRY_MS = 1000
"""How long one attempt to take the lock lasts: a source that is asked for its offsets has it meanwhile."""
WAITING = ("Waiting for next trigger", "Waiting for data to arrive")
"""Spark's status messages of a query between two triggers."""


class Place(Enum):
    """Where the stream's thread is, while somebody else has the lock."""

    PLANNING = auto()
    """It waits for the lock, to plan a batch."""
    ENDING = auto()
    """It waits for the lock, to commit its batch, or with the batch committed."""
    IDLE = auto()
    """It sleeps until its next trigger."""
    ENDED = auto()
    BUSY = auto()
    """It is on its way to one of the others."""


def stop_at_boundary(queries: Sequence[Running], grace_s: float) -> None:
    """Stops `queries`, all at the same time, after the batch that each is running; at once those that are not done within `grace_s`."""
    deadline = time.monotonic() + grace_s
    if queries:
        with ThreadPoolExecutor(len(queries), "tidemark-boundary") as beside:
            list(beside.map(lambda running: _stop(running, deadline), queries))


def begin_no_trigger(query: Any) -> None:
    """Lets the batch that runs be the last of `query`; for the thread that runs it, or where it has begun for certain."""
    from py4j.protocol import Py4JError

    try:
        execution = query._jsq.streamingQuery()
        execution.state().set(stream_state(execution, "TERMINATED"))
    except Py4JError as missing:
        say(f"this Spark has no state to set ({missing}): a further trigger may begin before the stop")


def _stop(running: Running, deadline: float) -> None:
    if running.is_connected:
        _stop_connected(running, deadline)
        return
    execution = running.query._jsq.streamingQuery()
    if not execution.queryExecutionThread().isAlive():
        return
    if not (Stream(execution).end(deadline) if _can_be_held(execution) else _end_untouched(running.query, deadline)):
        say(f"query {running.name} did not reach the end of its batch in time: interrupted")
    running.query.stop()
    say(f"query {running.name} stopped")


def _stop_connected(running: Running, deadline: float) -> None:
    """After the batch that runs, as far as a client sees it: one that has begun since is interrupted, and done again by the next start."""
    query = running.query
    before = _last_batch(query)
    while query.isActive and query.status["isTriggerActive"] and _last_batch(query) == before and time.monotonic() < deadline:
        time.sleep(POLL_S)
    query.stop()
    say(f"query {running.name} stopped")


def _last_batch(query: Any) -> int:
    last = query.lastProgress
    return -1 if last is None else int(last.batchId)


def _can_be_held(execution: Any) -> bool:
    """Whether the query runs in batches, and each thread here has one of the JVM's, to which a lock belongs (PYSPARK_PIN_THREAD)."""
    from py4j.clientserver import ClientServer
    from pyspark import SparkContext

    in_batches = str(execution.getClass().getSimpleName()).endswith("MicroBatchExecution")
    return in_batches and isinstance(SparkContext._gateway, ClientServer)


def _end_untouched(query: Any, deadline: float) -> bool:
    """Whether the trigger that runs was over in time; no other begins."""
    begin_no_trigger(query)
    while query._jsq.status().isTriggerActive():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def stream_state(execution: Any, name: str) -> Any:
    """A value of what Spark's trigger executors look at before each trigger (`StreamExecution.state`, read by `isActive`)."""
    from pyspark import SparkContext

    package = execution.state().get().getClass().getPackage().getName()
    return getattr(getattr(SparkContext._jvm, f"{package}.{name}$"), "MODULE$")


class Stream:
    """The thread of a query, and the lock that it passes."""

    def __init__(self, execution: Any) -> None:
        self._execution = execution
        self._thread = execution.queryExecutionThread()
        self._lock = execution.awaitProgressLock()
        self._state = execution.state()
        self._active, self._terminated = stream_state(execution, "ACTIVE"), stream_state(execution, "TERMINATED")

    def end(self, deadline: float) -> bool:
        """Whether the query has come to a boundary, where no trigger begins any more and `stop()` interrupts nothing.

        A query that is not active yet becomes it no more. A batch that is about to be planned is let in: it is the last.
        """
        if self._state.compareAndSet(stream_state(self._execution, "INITIALIZING"), self._terminated):
            return True
        place = Place.PLANNING
        while place is Place.PLANNING:
            with self._held(deadline) as held:
                place = self._settle(deadline) if held else Place.BUSY
        while place is Place.ENDING and time.monotonic() < deadline:
            time.sleep(POLL_S)
            place = Place.ENDING if self._thread.isAlive() else Place.ENDED
        return place in (Place.IDLE, Place.ENDED)

    def _settle(self, deadline: float) -> Place:
        """Waits for a place where the state can be set, sets it, and looks again: an idle thread may have woken up meanwhile."""
        terminated = False
        while time.monotonic() < deadline:
            place = self._place()
            if place is Place.PLANNING and terminated:
                self._state.set(self._active)
            if place in (Place.PLANNING, Place.ENDED) or (terminated and place is not Place.BUSY):
                return place
            if place is Place.BUSY:
                time.sleep(POLL_S)
            else:
                self._state.set(self._terminated)
                terminated = True
        return Place.BUSY

    def _place(self) -> Place:
        if not self._thread.isAlive():
            return Place.ENDED
        if self._lock.hasQueuedThread(self._thread):
            return Place.PLANNING if self._execution.status().isTriggerActive() and not self._has_planned() else Place.ENDING
        if self._thread.getState().name() == "TIMED_WAITING" and self._execution.status().message() in WAITING:
            return Place.IDLE
        return Place.BUSY

    def _has_planned(self) -> bool:
        """Whether the trigger has its batch; taken for granted before Spark 4.0, which runs what it plans whatever the state is."""
        from py4j.protocol import Py4JError

        try:
            return bool(self._execution.getLatestExecutionContext().isCurrentBatchConstructed())
        except Py4JError:
            return True

    @contextmanager
    def _held(self, deadline: float) -> Iterator[bool]:
        """Whether the lock was got by the deadline."""
        held = False
        while not held and time.monotonic() < deadline:
            held = self._lock.tryLock(TRY_MS, _milliseconds())
        try:
            yield held
        finally:
            if held:
                self._lock.unlock()


def _milliseconds() -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm.java.util.concurrent.TimeUnit.MILLISECONDS
