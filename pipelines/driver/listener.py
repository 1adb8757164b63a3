"""Records each query's progress, and notices a query that fails while the script waits for another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.driver.records import Records, say

DRAIN_MS = 30_000
OnBatch = Callable[[str, int, int], None]
"""(Spark's run id of the query, batch, rows read)"""


class Listening:
    """One listener for every session that starts a query: each session has a bus of its own."""

    def __init__(self, records: Records, on_batch: OnBatch, on_failure: Callable[[], None]) -> None:
        self._records = records
        self._on_batch = on_batch
        self._on_failure = on_failure
        self._listener: Any = None
        self._heard: list[Any] = []

    def attach(self, spark: Any) -> None:
        """Listens to `spark`'s queries, once."""
        streams = spark.streams
        if any(bus.equals(streams._jsqm) for bus in self._heard):
            return
        if self._listener is None:
            self._listener = _listener(self._records, self._on_batch, self._on_failure)
        streams.addListener(self._listener)
        self._heard.append(streams._jsqm)


def _listener(records: Records, on_batch: OnBatch, on_failure: Callable[[], None]) -> Any:
    from pyspark.sql.streaming import StreamingQueryListener

    class Progress(StreamingQueryListener):  # type: ignore[misc]
        """Runs beside the queries, on Spark's listener thread: it appends a line and leaves a note, no more."""

        def onQueryStarted(self, event: Any) -> None:
            pass

        def onQueryProgress(self, event: Any) -> None:
            records.progress(event.progress.json)
            on_batch(str(event.progress.runId), event.progress.batchId, event.progress.numInputRows)

        def onQueryIdle(self, event: Any) -> None:
            records.idle(str(event.id))

        def onQueryTerminated(self, event: Any) -> None:
            if event.exception is not None:
                say(f"query {event.id} failed")
                on_failure()

    return Progress()


def drain() -> None:
    """Returns when everything posted so far has reached the listener, so that the last batch's progress is on disk."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None:
        context._jsc.sc().listenerBus().waitUntilEmpty(DRAIN_MS)
