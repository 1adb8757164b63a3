"""Writes down the executed plan of each query with its metrics: beside the queries, in a thread of its own, now and then."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

from pipelines.domain.plans import accumulators, read_plan
from pipelines.driver.metrics import Metrics
from pipelines.driver.records import Records, say

EVERY_S, MOST_S = 15.0, 60.0
"""A query's plan is written at its first batch with rows, 15 s after that at the earliest, then after twice as long each time up to a
minute, and at its end: reading one takes some milliseconds of Spark's time."""


@dataclass(frozen=True)
class Ended:
    """A batch that has ended, from its progress event."""

    run_id: str
    batch: int
    rows: int


@dataclass
class Watched:
    """One query: the execution whose end is waited for, the batch whose plan was last written, and when the next is due."""

    name: str
    run_id: str
    query: Any
    execution: Any = None
    written: int = -1
    due_s: float = 0.0
    pause_s: float = EVERY_S


class Plans:
    """Writes plans in a thread of its own: the listener only queues ended batches, and nothing waits for the JVM to be read."""

    def __init__(self, records: Records, seconds: Callable[[], float] = time.monotonic) -> None:
        self._records = records
        self._seconds = seconds
        self._notes: SimpleQueue[Ended] = SimpleQueue()
        self._watched: dict[str, Watched] = {}
        self._newest: dict[str, Ended] = {}
        """Spark's run id -> its last batch with rows; that of a batch without is empty, and is passed over."""
        self._lock = threading.Lock()
        self._said = self._over = False

    def watch(self, name: str, query: Any) -> None:
        """From now on `query`'s plans are written."""
        with self._lock:
            first = not self._watched
            if name in self._watched:
                self._newest.pop(self._watched[name].run_id, None)
            self._watched[name] = Watched(name, str(query.runId), query)
        if first:
            threading.Thread(target=self._work, name="tidemark-plans", daemon=True).start()

    def note(self, run_id: str, batch: int, rows: int) -> None:
        """A batch has ended."""
        ended = Ended(run_id, batch, rows)
        if rows:
            self._newest[run_id] = ended
        self._notes.put(ended)

    def finish(self) -> None:
        """Writes the last plans, when no batch runs any more; none is written afterwards."""
        with self._lock:
            self._over = True
            for watched in self._watched.values():
                if watched.run_id in self._newest:
                    watched.execution, watched.due_s = None, 0.0
                    self._safely(watched, self._newest[watched.run_id])

    def _work(self) -> None:
        while not self._over:
            ended = self._notes.get()
            with self._lock:
                watched = next((candidate for candidate in self._watched.values() if candidate.run_id == ended.run_id), None)
                if watched is not None and not self._over:
                    self._safely(watched, ended)

    def _safely(self, watched: Watched, ended: Ended) -> None:
        """Writes a plan and keeps the job running whatever Spark or the disk raises; a failure is logged once."""
        try:
            self._look(watched, ended)
        except Exception as error:  # noqa: BLE001  any failure, as said
            watched.execution, watched.due_s = None, self._seconds() + EVERY_S
            if not self._said:
                say(f"the plan of query {watched.name} could not be written: {type(error).__name__}: {error}")
            self._said = True

    def _look(self, watched: Watched, ended: Ended) -> None:
        """Writes the plan of `ended` if its execution is at hand: the newest one, or one that was taken hold of while it ran.

        An execution's metrics are whole when its batch has ended, and by then the next one may have taken its place.
        """
        if self._seconds() < watched.due_s or ended.batch <= watched.written:
            return
        if watched.execution is None or _batch(watched.execution) < ended.batch:
            watched.execution = _newest_execution(watched.query)
        if watched.execution is not None and _batch(watched.execution) == ended.batch and ended.rows:
            self._write(watched, ended.batch)
        if watched.execution is not None and _batch(watched.execution) <= ended.batch:
            watched.execution = None

    def _write(self, watched: Watched, batch: int) -> None:
        info = _info(watched.execution)
        self._records.plan(read_plan(watched.name, batch, self._records.now_ms(), info, _values(info)))
        watched.written, watched.due_s = batch, self._seconds() + watched.pause_s
        watched.pause_s = min(2 * watched.pause_s, MOST_S)


def _newest_execution(query: Any) -> Any:
    """`StreamExecution.lastExecution`: of the batch that runs, or ran last; None before the first."""
    return query._jsq.streamingQuery().lastExecution()


def _batch(execution: Any) -> int:
    return int(execution.currentBatchId())


def _info(execution: Any) -> Mapping[str, Any]:
    """The plan as Spark's event log has it (`SparkPlanInfo`), in one call."""
    from pyspark import SparkContext

    spark = SparkContext._jvm.org.apache.spark
    info = spark.sql.execution.SparkPlanInfo.fromSparkPlan(execution.executedPlan())
    event = spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate(0, "", info)
    plan_info: Mapping[str, Any] = json.loads(spark.util.JsonProtocol.sparkEventToJsonString(event))["sparkPlanInfo"]
    return plan_info


def _values(info: Mapping[str, Any]) -> Mapping[int, float]:
    """Accumulator id -> value, of those that the JVM still has."""
    from pyspark import SparkContext

    return _metrics(SparkContext._jvm).values(accumulators(info))


@lru_cache(maxsize=1)
def _metrics(jvm: Any) -> Metrics:
    """Cached: its handles are made once a JVM."""
    return Metrics(jvm)
