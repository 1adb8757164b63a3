"""A rehearsal: the job's own script, with every sink replaced by a scratch output, and an end after one batch of each query.

Nothing is written outside of the rehearsal's directory by a query or by a reader: sinks never see a row, file sources neither archive nor
delete what they have read, batch writes of the script are refused. The script's own code runs all the same.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import folder_of
from pipelines.domain.rehearsals import BATCH_WRITE, NO_DATA, RehearsedBatch, batch_file
from pipelines.domain.run_specs import RunSpec
from pipelines.driver.boundary import POLL_S, begin_no_trigger, stop_at_boundary
from pipelines.driver.intercept import Asked, Launch
from pipelines.driver.records import Records, say
from pipelines.driver.running import Running

UNSTORABLE = ("void", "interval")
"""Types that parquet has not, by their names: not every Spark has a class for each."""
CLEAN_SOURCE = "cleansource"
BATCH_WRITES = {
    "DataFrameWriter": ("save", "saveAsTable", "insertInto", "parquet", "json", "csv", "text", "orc", "xml", "jdbc"),
    "DataFrameWriterV2": ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions"),
}
FOREVER_S = float("inf")
START_S = 60.0
"""How long a batch waits for the start of its query to return."""


class Rehearsal:
    """Stands in for the sinks of one run, and ends its queries. `over` is called when every query that is expected has ended."""

    def __init__(self, spec: RunSpec, records: Records, over: Callable[[], None]) -> None:
        self._folder = Path(spec.rehearsal)
        self._patience_s = spec.rehearsal_patience_s
        self._idle = spec.rehearsal_idle
        self._records = records
        self._over = over
        self._left = set(spec.expected)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._written: dict[str, threading.Event] = {}
        self._begun: dict[str, threading.Event] = {}
        self._queries: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []
        self._start: Any = None
        self._parquet: Any = None

    def install(self) -> None:
        """Before anything else wraps PySpark's writers: readers leave their files alone, batch writes are refused.

        A script that stops Spark because its query is not active any more waits for the commit of the batch.
        """
        from pyspark.sql import SparkSession
        from pyspark.sql.readwriter import DataFrameWriter
        from pyspark.sql.streaming.readwriter import DataStreamWriter

        self._start, self._parquet = DataStreamWriter.start, DataFrameWriter.parquet
        self._folder.mkdir(parents=True, exist_ok=True)
        _before(SparkSession, "stop", self.settle)
        protect()

    def instead(self, writer: Any, request: Asked, name: str, checkpoint: str) -> Launch:
        """The start of the same query with our sink: a writer of its own, so that nothing of the script's sink is left in it."""
        scratch_writer = writer._df.writeStream.queryName(name).option("checkpointLocation", checkpoint)
        if request.output_mode:
            scratch_writer = scratch_writer.outputMode(request.output_mode)
        scratch_writer = scratch_writer.foreachBatch(lambda frame, batch: self._write(name, frame, batch))
        self._written[name], self._begun[name] = threading.Event(), threading.Event()
        say(f"rehearsal: query {name} writes to {self._folder / folder_of(name)}, not to its own sink")
        return lambda: self._start(scratch_writer)

    def begun(self, running: Running) -> None:
        """Notes that the query has started: its patience for a first batch begins."""
        self._queries[running.name] = running.query
        self._begun[running.name].set()
        thread = threading.Thread(target=self._see_to, args=(running,), name=f"rehearsal of {running.name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def settle(self) -> None:
        """Ends the queries after the script: batches that run are finished, nothing else is waited for."""
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _write(self, name: str, frame: Any, batch: int) -> None:
        """One batch, as our sink.

        1. Its rows, and how many they are; 2. what says so, which makes it count; 3. no trigger after this one: even a look
        at the sources would tell them that this batch is done (`commit`).
        """
        target = f"file:{self._folder / folder_of(name) / str(batch)}"
        rows = storable(frame)
        self._parquet(rows.write.mode("overwrite"), target)  # 1
        written = RehearsedBatch(batch, rows.sparkSession.read.schema(rows.schema).parquet(target).count())
        self._say(name, written)  # 2
        self._begun[name].wait(START_S)
        begin_no_trigger(self._queries[name])  # 3

    def _say(self, name: str, written: RehearsedBatch) -> None:
        """Records the first batch of a query."""
        path = self._folder / batch_file(name)
        if not path.exists():
            aside = path.with_name(f".{path.name}.tmp")
            aside.write_text(json.dumps(asdict(written)))
            aside.replace(path)
        self._written[name].set()

    def _see_to(self, running: Running) -> None:
        """Waits for the first batch of one query and ends it; a batch that runs when the patience ends is waited for."""
        patience_s = 0.0 if running.name in self._idle else self._patience_s
        deadline = time.monotonic() + patience_s
        written = self._written[running.name]
        while not written.is_set() and running.query.isActive and not self._ending.is_set() and time.monotonic() < deadline:
            written.wait(POLL_S)
        waited = time.monotonic() >= deadline
        stop_at_boundary([running], FOREVER_S)
        if waited and not written.is_set():
            self._records.event(NO_DATA, f"Its sources had nothing new in {patience_s:g} s: no batch was run.", running.name)
        if self._was_last(running.name):
            self._over()

    def _was_last(self, name: str) -> bool:
        """Whether no query is to come after `name`, which has ended: all that are expected have, or none starts for a while."""
        with self._lock:
            self._left.discard(name)
            if not self._left:
                return True
            begun = len(self._threads)
        return (
            not self._ending.wait(self._patience_s)
            and len(self._threads) == begun
            and not any(query.isActive for query in self._queries.values())
        )


def protect() -> None:
    """From now on readers leave their files alone, and batch writes are refused."""
    from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2
    from pyspark.sql.streaming.readwriter import DataStreamReader

    _leave_files(DataStreamReader)
    for writer in (DataFrameWriter, DataFrameWriterV2):
        _refuse_writes(writer)


def storable(frame: Any) -> Any:
    """The rows as parquet can hold them: columns of one name told apart, those of no type (`void`) and intervals as text."""
    from pyspark.sql import functions as F

    names = [field.name.lower() for field in frame.schema]
    distinct = [name if names.count(name) == 1 else f"{name}_{at}" for at, name in enumerate(names)]
    renamed = frame if len(set(names)) == len(names) else frame.toDF(*distinct)
    unstorable = [field.name for field in renamed.schema if field.dataType.typeName() in UNSTORABLE]
    return renamed.withColumns({name: F.col(f"`{name}`").cast("string") for name in unstorable}) if unstorable else renamed


def _before(some_class: Any, method: str, first: Callable[[], None]) -> None:
    original = getattr(some_class, method)

    def after(self: Any) -> Any:
        first()
        return original(self)

    setattr(some_class, method, after)


def _leave_files(reader_class: Any) -> None:
    option_there, options_there = reader_class.option, reader_class.options

    def option(self: Any, key: str, value: Any) -> Any:
        return option_there(self, key, _harmless(key, value))

    def options(self: Any, **options: Any) -> Any:
        return options_there(self, **{key: _harmless(key, value) for key, value in options.items()})

    reader_class.option, reader_class.options = option, options


def _harmless(key: str, value: Any) -> Any:
    return "off" if key.lower() == CLEAN_SOURCE and value is not None else value


def _refuse_writes(writer_class: Any) -> None:
    name = writer_class.__name__

    def refused(method: str) -> Any:
        def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
            raise Conflict(
                BATCH_WRITE,
                f"The script writes a table itself, with {name}.{method}.",
                "It cannot be rehearsed; a job whose queries alone write can.",
            )

        return refuse

    for method in BATCH_WRITES[name]:
        setattr(writer_class, method, refused(method))
