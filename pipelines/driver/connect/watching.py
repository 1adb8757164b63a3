"""Follows the queries on a Connect server: their progress, what ends them, and a server that is gone.

PySpark's listener of a Connect client ends for good with the first failure of its connection, so the server is asked instead.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.texts import first_line
from pipelines.driver.records import Records, say
from pipelines.driver.running import Running

EVERY_S = 0.5
SUMS = ("numInputRows", "inputRowsPerSecond", "processedRowsPerSecond")
IDLE_EVERY_MS = 10_000
"""As often as Spark's own listener hears of a query without data (`spark.sql.streaming.noDataProgressEventInterval`)."""


@dataclass
class Watched:
    """A query, the newest batch whose progress is written, and when it was last said to be idle."""

    running: Running
    batch: int = -1
    idle_ms: int = 0


class Watching:
    """One thread that looks at each query twice a second."""

    def __init__(self, records: Records, on_failure: Callable[[], None]) -> None:
        self._records = records
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._watched: list[Watched] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, running: Running) -> None:
        with self._lock:
            self._watched.append(Watched(running))
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, name="tidemark-connect", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Returns when the last progress of each query is written."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _follow(self) -> None:
        ends = False
        while not ends:
            ends = self._over.wait(EVERY_S)
            with self._lock:
                watched = tuple(self._watched)
            for entry in watched:
                self._look(entry)

    def _look(self, watched: Watched) -> None:
        from pyspark.errors import PySparkException

        query = watched.running.query
        try:
            active = query.isActive
            for progress in _since(query, watched.batch):
                self._records.progress(_whole(progress.json))
                watched.batch = int(progress.batchId)
            if active:
                self._note_idle(watched, query)
            else:
                self._ended(watched, has_failed=query.exception() is not None)
        except PySparkException as error:
            say(f"query {watched.running.name}: the Connect server could not be asked: {first_line(error)}")
            self._ended(watched, has_failed=True)

    def _ended(self, watched: Watched, has_failed: bool) -> None:
        with self._lock:
            self._watched.remove(watched)
        if has_failed:
            self._on_failure()

    def _note_idle(self, watched: Watched, query: Any) -> None:
        status, now_ms = query.status, self._records.now_ms()
        if not status["isTriggerActive"] and not status["isDataAvailable"] and now_ms - watched.idle_ms >= IDLE_EVERY_MS:
            watched.idle_ms = now_ms
            self._records.idle(str(query.id))


def _whole(event_json: str) -> str:
    """As Spark's own progress has it (`StreamingQueryProgress.jsonValue`): with the sums over its sources, which a Connect server leaves
    out, and observed metrics by name, of which that says values and schema."""
    raw = json.loads(event_json)
    raw["observedMetrics"] = {name: _named(row) for name, row in raw.get("observedMetrics", {}).items()}
    for name in SUMS:
        values = [source.get(name) for source in raw["sources"]]
        if name not in raw and all(isinstance(value, int | float) and math.isfinite(value) for value in values):
            raw[name] = sum(values)
    return json.dumps(raw, separators=(",", ":"))


def _named(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if row.keys() != {"values", "schema"}:
        return row
    return {column["name"]: value for column, value in zip(row["schema"]["fields"], row["values"], strict=True)}


def _since(query: Any, batch: int) -> Iterator[Any]:
    """The progress of each batch after `batch`, as far as Spark still has it (`spark.sql.streaming.numRecentProgressUpdates`)."""
    last = query.lastProgress
    if last is None or last.batchId <= batch:
        return
    known = [last] if last.batchId == batch + 1 else query.recentProgress
    for number in range(batch + 1, last.batchId + 1):
        yield from [progress for progress in known if progress.batchId == number][-1:]
