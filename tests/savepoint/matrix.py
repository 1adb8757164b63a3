"""A line of the matrix of exactness: a query run to its end in this process, interrupted, saved while it runs, and forked.

The engine works on checkpoint directories, so no driver is needed: one Spark session runs the reference, the original and the forks.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException

from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.versions import version
from pipelines.driver import redone, sinks, sources
from pipelines.driver.connect.queries import LATE
from pipelines.driver.destinations import Destination
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records
from pipelines.sandbox import aliases, rewriting
from pipelines.sandbox.rewrites import RewriteTask
from pipelines.savepoint import library, rescaling, restore, take
from pipelines.savepoint.batch_choice import BatchChoice, Newest
from pipelines.savepoint.source import JobSource, QueryLocation
from pipelines.storage.local import LocalStorage
from pipelines.workspace import rewrites
from tests import waiting
from tests.driver.process import batches
from tests.savepoint import at_home, matrix_sinks, queries

QUERY = QueryName("query")
PATIENCE_S = 120
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
STATE = "org.apache.spark.sql.execution.streaming.state"
HDFS = {PROVIDER: f"{STATE}.HDFSBackedStateStoreProvider"}
ROCKSDB = {PROVIDER: f"{STATE}.RocksDBStateStoreProvider"}
CHANGELOG = ROCKSDB | {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"}
FORMAT_2 = CHANGELOG | {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
SNAPSHOTS_2 = ROCKSDB | {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
STORES = {"hdfs": HDFS, "rocksdb": ROCKSDB, "changelog": CHANGELOG, "format2": FORMAT_2, "format2 without changelog": SNAPSHOTS_2}
BASE = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "200ms",
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.fileSink.log.compactInterval": "3",
}
"""Logs are compacted and snapshots are made within six batches."""
CODE = version("job.py", "print('a job')\n", args=("--output", "{output}"))

Query = Callable[[Any, Path], Any]
Rows = Counter[tuple[int, str]]
"""(batch, row as JSON) -> how often; the batch is -1 where the sink does not tell."""


@dataclass(frozen=True)
class Line:
    """One line: the query, the confs that choose its store, where its rows go, and how it is triggered."""

    query: Query
    conf: Mapping[str, str] = field(default_factory=dict)
    mode: str = "append"
    sink: str = "foreachBatch"
    inputs: tuple[str, ...] = ("events",)
    last: int | None = None
    """The batch to stop after, for a source that never ends; None: all that is available, and then the end."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the writer."""
    trigger: Mapping[str, Any] = field(default_factory=dict)
    """For a line with a last batch; at once where it says nothing."""


@dataclass
class Bench:
    """One line's inputs, its jobs (a checkpoint and an output each) and its savepoints, in one folder."""

    line: Line
    folder: Path
    spark: Any
    gates: dict[str, matrix_sinks.Gate] = field(default_factory=dict)
    home: str = ""
    """Where forks lie while their state is rewritten; empty: where they lie always."""
    _sessions: dict[frozenset[tuple[str, str]], Any] = field(default_factory=dict)

    @property
    def session(self) -> Any:
        """The one with the line's confs, for all jobs: each query has a copy of its own."""
        key = frozenset(self.line.conf.items())
        if key not in self._sessions:
            self._sessions[key] = configured(self.spark, self.line.conf)
        return self._sessions[key]

    @property
    def library(self) -> LocalStorage:
        return LocalStorage(self.folder / "savepoints")

    def checkpoint(self, job: str) -> Path:
        return self.folder / "checkpoints" / job / QUERY

    def output(self, job: str) -> Path:
        return self.folder / "output" / job / QUERY

    def committed(self, job: str) -> int:
        """The newest committed batch, -1 before the first."""
        folder = self.checkpoint(job)
        return max(batches(folder, "commits"), default=-1) if (folder / "commits").is_dir() else -1

    def start(self, job: str) -> Any:
        """The line's query on the job's own checkpoint and output, both as they are."""
        writer = self._writer(job).options(**self.line.options)
        endless = self.line.trigger or {"processingTime": "0 seconds"}
        writer = writer.trigger(availableNow=True) if self.line.last is None else writer.trigger(**endless)
        return matrix_sinks.SINKS[self.line.sink](writer, self.output(job), job, self.gates.get(job))

    def _writer(self, job: str) -> Any:
        frame = self.line.query(self.session, self.folder)
        return frame.writeStream.outputMode(self.line.mode).option("checkpointLocation", str(self.checkpoint(job)))

    def finish(self, query: Any, job: str) -> None:
        """Waits until the query has done all that there is, or the line's last batch."""
        if self.line.last is None:
            assert query.awaitTermination(PATIENCE_S), f"{job} is still running"
        else:
            await_commit(self, query, job, self.line.last)
            query.stop()

    def run(self, *jobs: str) -> None:
        """All of `jobs` to their end, side by side; one that a busy machine gave no Python in Spark's ten seconds begins again."""
        started = {job: self.start(job) for job in jobs}
        for job, query in started.items():
            try:
                self.finish(query, job)
            except StreamingQueryException as error:
                if LATE not in str(error):
                    raise
                self.finish(self.start(job), job)

    def source(self, *jobs: str) -> JobSource:
        """The first of `jobs`, with the query of each as one of its own."""
        names = [QUERY, *(QueryName(job) for job in jobs[1:])]
        places = tuple(
            QueryLocation(name, str(self.checkpoint(job)), self.line.sink, self._sink_path(job))
            for name, job in zip(names, jobs, strict=True)
        )
        return JobSource(JobName(jobs[0]), RunId("r-1"), CODE, "4.3.0", places)

    def _sink_path(self, job: str) -> str:
        return str(self.output(job)) if self.line.sink in matrix_sinks.FILES else ""

    def take(self, job: str, savepoint: str, point: BatchChoice | None = None) -> Savepoint:
        return take.take(self.source(job), point or Newest(), self.library, take.Naming(SavepointId(savepoint), 1))

    def fork(self, savepoint: Savepoint, job: str, partitions: int | None = None) -> None:
        """New checkpoints for `job`, rescaled to `partitions` if given, and its file sink as a driver gets it ready; nothing starts yet."""
        checkpoints, output = self.checkpoint(job).parent, self.output(job).parent
        target = restore.Fork(JobName(job), str(checkpoints), CODE, str(self.output(savepoint.job).parent), lambda: str(uuid.uuid4()))
        made = restore.restore(self.library, savepoint.id, target, 1)
        if partitions is not None:
            self.rescale(savepoint, made, partitions)
        self.prepare(job, made.sink_logs)
        output.mkdir(parents=True, exist_ok=True)

    def rescale(self, savepoint: Savepoint, made: restore.Restored, partitions: int) -> None:
        """What the sandbox does with a copy, in this process."""
        manifest = library.manifest(self.library, savepoint.id)
        plan = rescaling.plan(rescaling.of_savepoint(self.library, manifest), partitions, self.spark.version)
        assert plan.refusal is None, plan.refusal
        folder = self.folder / f"rescaling-{uuid.uuid4()}"
        folder.mkdir()
        with at_home.carried(Path(made.checkpoints), self.home) as place, aliases.plain(rewrites.stores(manifest, plan, place)) as stores:
            rewrites.check(rewriting.rescale(self.spark, RewriteTask(1, "", "", {}, stores, partitions), folder))
        rewrites.note(plan, {str(query): log for query, log in made.sink_logs.items()})

    def prepare(self, job: str, sink_logs: Mapping[QueryName, str] | None = None) -> list[str]:
        """What a driver does before it starts the query again, or a fork's for the first time, which `sink_logs` says.

        The kinds of the events that it recorded. A fork's sources are left alone: the savepoint must have cut them itself.
        """
        folder = self.folder / "runs" / f"{job}-{uuid.uuid4()}"
        folder.mkdir(parents=True)
        records = Records(folder, lambda: 1)
        output, checkpoint = self.output(job), self.checkpoint(job)
        logs = {str(query): place for query, place in (sink_logs or {}).items()}
        spec = RunSpec(
            SPEC_FORMAT, RunId("r-2"), JobName(job), CODE.id, "job.py", (), {}, "local[2]", str(checkpoint.parent), str(output.parent), logs
        )
        if self.line.sink in matrix_sinks.FILES:
            sinks.prepare(spec, records, QUERY, str(output), str(checkpoint), self.session)
        if sink_logs is None:
            sources.mend(records, QUERY, checkpoint)
            wrote, asked = Destination(self.line.sink, self._sink_path(job)), Asked(output_mode=self.line.mode)
            redone.redo(records, QUERY, self._writer(job), asked, wrote, str(checkpoint), lambda running: None)
        return matrix_sinks.events(folder)

    def rows(self, job: str, first: int = 0, last: int | None = None) -> Rows:
        """What the job has put out, of batches `first` to `last` where the sink tells them apart."""
        return since(matrix_sinks.read(self.line.sink, self.session, self.output(job), job), first, last)


def configured(spark: Any, conf: Mapping[str, str]) -> Any:
    """A new session of the one Spark, with the confs of every line and these."""
    session = spark.newSession()
    for key, value in {**BASE, **conf}.items():
        session.conf.set(key, value)
    return session


def await_commit(bench: Bench, query: Any, job: str, batch: int) -> None:
    """Until `batch` of `job` is committed; fails with the query's own error, or when it ends before."""
    until(lambda: bench.committed(job) >= batch or not query.isActive)
    if query.exception() is not None:
        raise query.exception()
    assert bench.committed(job) >= batch, f"{job} ended after batch {bench.committed(job)}"


until = partial(waiting.until, seconds=PATIENCE_S, what="waited too long", every=0.005)


def write_inputs(line: Line, folder: Path, first: int = 0, files: int = queries.FILES) -> None:
    for seed, name in enumerate(line.inputs):
        queries.write_events(folder / name, first, files, seed, line.conf.get(queries.FORMAT, "json"))


def since(rows: Rows, first: int, last: int | None = None) -> Rows:
    """The rows of batches `first` to `last`, and those that do not tell."""
    return Counter({row: n for row, n in rows.items() if row[0] == -1 or (first <= row[0] and (last is None or row[0] <= last))})


def difference(ours: Rows, reference: Rows) -> dict[str, Iterable[object]]:
    """Rows that one side has more often than the other; empty where both are equal as multisets."""
    sides = {"only ours": sorted((ours - reference).items()), "only reference": sorted((reference - ours).items())}
    return {side: rows for side, rows in sides.items() if rows}


def held(batch: int) -> matrix_sinks.Gate:
    """A gate that holds `batch` after its rows are computed (its state is written, too) and before it commits."""
    return matrix_sinks.Gate(batch, threading.Event(), threading.Event())
