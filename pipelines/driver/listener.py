"""Records each query's progress, and notices a query that fails while the script waits for another."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pipelines.driver.records import Records, say

DRAIN_MS = 30_000
_BEFORE = '{"progress":'
OnBatch = Callable[[str, int, int], None]
"""(Spark's run id of the query, batch, rows read)"""
OnStart = Callable[[Any, str], None]
"""(the JVM's execution of the query, its name), on the stream's own thread before its first batch."""


class Listening:
    """One listener for every session that starts a query: each session has a bus of its own."""

    def __init__(self, records: Records, on_batch: OnBatch, on_failure: Callable[[], None], on_start: OnStart | None = None) -> None:
        self._listener = Listener(records, on_batch, on_failure, self._begun if on_start else None)
        self._on_start = on_start
        self._wrapper: Any = None
        self._heard: list[Any] = []

    def attach(self, spark: Any) -> None:
        """Listens to `spark`'s queries, once."""
        bus = spark.streams._jsqm
        if any(known.equals(bus) for known in self._heard):
            return
        if self._wrapper is None:
            self._wrapper = _wrapped(self._listener)
        bus.addListener(self._wrapper)
        self._heard.append(bus)

    def _begun(self, query_id: Any, name: str) -> None:
        """Spark knows a query before it says that it has started, and says so synchronously (`StreamingQueryManager.startQuery`)."""
        query = next((query for bus in self._heard if (query := bus.get(query_id)) is not None), None)
        if query is not None and self._on_start is not None:
            self._on_start(query.streamingQuery(), name)


class Listener:
    """Runs beside the queries, on Spark's listener thread: it appends a line and leaves a note, no more.

    It is what Spark's JVM calls, without PySpark's `StreamingQueryListener` in between: that fetches each field of a progress with a call
    of its own, 270 a batch, and this one fetches the JSON, in one call.
    """

    def __init__(self, records: Records, on_batch: OnBatch, on_failure: Callable[[], None], on_start: OnStart | None = None) -> None:
        self._records = records
        self._on_batch = on_batch
        self._on_failure = on_failure
        self._on_start = on_start

    def onQueryStarted(self, event: Any) -> None:
        if self._on_start is not None:
            self._on_start(event.id(), event.name() or "")

    def onQueryProgress(self, event: Any) -> None:
        line = _progress(event.json())
        self._records.progress(line)
        progress = json.loads(line)
        self._on_batch(progress["runId"], progress["batchId"], progress["numInputRows"])

    def onQueryIdle(self, event: Any) -> None:
        self._records.idle(event.id().toString())

    def onQueryTerminated(self, event: Any) -> None:
        """One that ends by itself has worked off all its data: a script that starts it again and again is idle meanwhile."""
        query_id = event.id().toString()
        if event.exception().isDefined():
            say(f"query {query_id} failed")
            self._on_failure()
        else:
            self._records.idle(query_id)

    class Java:
        """What py4j reads: the interface that Python listeners have in the JVM."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def _progress(event_json: str) -> str:
    """The progress in the JSON of its event, as Spark wrote it (`QueryProgressEvent.jsonValue`); ValueError where it is not there."""
    if not event_json.startswith(_BEFORE):
        raise ValueError(f"no progress event of Spark: {event_json[:100]}")
    return event_json[len(_BEFORE) : -1]


def _wrapped(listener: Listener) -> Any:
    """The JVM's listener that calls `listener`."""
    from pyspark import SparkContext
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(SparkContext._gateway)
    return SparkContext._jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(listener)


def close_unused() -> None:
    """Closes the connections by which threads of the JVM called this process and that were not used since the last time. py4j makes one for
    each thread, so for each query, which says on its own thread that it starts, and keeps it, with a thread here, when that has ended. A
    thread that calls again gets another one (`PythonClient.getConnection`)."""
    from py4j.java_gateway import JavaObject
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        JavaObject("GATEWAY_SERVER", SparkContext._gateway._gateway_client).getCallbackClient().periodicCleanup()


def drain() -> None:
    """Returns when everything posted so far has reached the listener, so that the last batch's progress is on disk."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None:
        context._jsc.sc().listenerBus().waitUntilEmpty(DRAIN_MS)
