"""The streaming queries of this process: how each starts, which ones there are, which have failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import QueryName, query_name
from pipelines.domain.runs import QueryStarted, RunSpec
from pipelines.driver import sinks
from pipelines.driver.intercept import Asked, Launch
from pipelines.driver.listener import Listening
from pipelines.driver.records import Records, say

CHECKPOINT_CONF = "spark.sql.streaming.checkpointLocation"


@dataclass(frozen=True)
class Running:
    """A query that started here; it may have ended since."""

    name: QueryName
    query: Any


class Queries:
    """Gives every query that starts its name, its checkpoint and a sink that is ready, and remembers it."""

    def __init__(self, spec: RunSpec, records: Records, on_failure: Callable[[], None]) -> None:
        self._spec = spec
        self._records = records
        self._listening = Listening(records, on_failure)
        self._lock = threading.Lock()
        self._started: list[Running] = []
        self._closed = threading.Event()

    @property
    def started(self) -> tuple[Running, ...]:
        """In order of start."""
        with self._lock:
            return tuple(self._started)

    def close(self) -> None:
        """From now on no query may start: the driver is stopping."""
        self._closed.set()

    def start(self, writer: Any, asked: Asked, launch: Launch) -> Any:
        """What `DataStreamWriter.start` does in this process; raises TidemarkError where it must not start.

        1. Name it. 2. Give it its checkpoint. 3. Get its file sink ready. 4. Listen. 5. Start. 6. Record it.
        """
        self._refuse_when_closed()
        spark = writer._spark
        name = self._name(writer, asked)
        checkpoint = self._checkpoint(writer, asked, spark, name)
        sink, path = self._sink(asked, spark, name, checkpoint)
        self._listening.attach(spark)
        query = launch()
        with self._lock:
            self._started.append(Running(name, query))
        self._record(query, spark, name, checkpoint, sink, path)
        return query

    def _refuse_when_closed(self) -> None:
        if self._closed.is_set():
            say("the run is stopping: no further query starts")
            raise SystemExit(0)

    def _name(self, writer: Any, asked: Asked) -> QueryName:
        """The script's name for it, else `query-<order of start>`; Spark is told the same, so its progress carries it."""
        name = query_name(asked.name or f"query-{len(self.started)}")
        for other in self.started:
            if other.name == name and other.query.isActive:
                message = f"Two active queries would both be called {name}."
                raise Conflict("query.name", message, "Give each its own queryName: it names its checkpoint.")
        if name != asked.name and not (asked.format == "memory" and not asked.name):
            writer.queryName(name)
            say(f"query {asked.name or '(unnamed)'} is called {name}")
        return name

    def _checkpoint(self, writer: Any, asked: Asked, spark: Any, name: QueryName) -> str:
        wanted = asked.checkpoint or spark.conf.get(CHECKPOINT_CONF, None) or ""
        checkpoint = f"{self._spec.checkpoints.rstrip('/')}/{name}"
        if wanted and wanted.rstrip("/") != checkpoint:
            self._records.event("checkpoint.replaced", f"The script's checkpoint location {wanted} was replaced by {checkpoint}.", name)
        writer.option("checkpointLocation", checkpoint)
        return checkpoint

    def _sink(self, asked: Asked, spark: Any, name: QueryName, checkpoint: str) -> tuple[str, str]:
        """(format, path of a file sink or ""). A table's directory is its catalog's affair and has no path here."""
        sink = asked.format or ("table" if asked.table else spark.conf.get("spark.sql.sources.default"))
        if asked.table or sink.lower() not in sinks.FILE_FORMATS or not asked.path:
            return sink, ""
        default_fs = spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///")
        local = sinks.local_path(asked.path, default_fs)
        path = asked.path if local is None else str(local)
        sinks.prepare(self._spec, self._records, name, path, checkpoint, default_fs)
        return sink, path

    def _record(self, query: Any, spark: Any, name: QueryName, checkpoint: str, sink: str, path: str) -> None:
        ui_url = spark.sparkContext.uiWebUrl or ""
        at_ms = self._records.now_ms()
        self._records.query(QueryStarted(name, query.id, query.runId, checkpoint, sink, path, ui_url, spark.version, at_ms))
