"""The example's job as real driver processes over a fixed input, savepoints of it, forks and resumes of these, and what they put out."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psutil

from pipelines.checkpoint import sink_log
from pipelines.domain.ids import JobName, RunId, SavepointId
from pipelines.domain.runs import QUERIES_FILE
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.versions import Version, version
from pipelines.savepoint import restore, take
from pipelines.savepoint.batch_choice import BatchChoice, Newest
from pipelines.savepoint.source import JobSource, job_source
from pipelines.storage.local import LocalStorage
from pipelines.workspace import json_lines
from tests.driver.process import ROOT, Driver, Drivers, batches

JOBS = ROOT / "pipelines" / "jobs"
ENGAGEMENT = JOBS / "post_engagement.py"
FILES = 24
"""One a batch: enough that both logs are compacted twice, after batches 9 and 19."""
PATIENCE_S = 400
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
STATE = "org.apache.spark.sql.execution.streaming.state"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
BRISK = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "4",
    "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
}
STORES: dict[str, dict[str, str]] = {
    "hdfs": {PROVIDER: f"{STATE}.HDFSBackedStateStoreProvider", CHANGELOG: "false", FORMAT: "1"},
    "rocksdb": {PROVIDER: f"{STATE}.RocksDBStateStoreProvider", CHANGELOG: "false", FORMAT: "1"},
    "rocksdb_changelog": {PROVIDER: f"{STATE}.RocksDBStateStoreProvider", CHANGELOG: "true", FORMAT: "1"},
    "rocksdb_format2": {PROVIDER: f"{STATE}.RocksDBStateStoreProvider", CHANGELOG: "true", FORMAT: "2"},
}


def write_events(folder: Path, files: int = FILES) -> Path:
    """The generator's events: out of order, some too late, five seconds of event time a file."""
    command = [sys.executable, str(JOBS / "post_events.py"), "--out", str(folder), "--files", str(files), "--fast", "--rate", "15"]
    subprocess.run([*command, "--interval", "5", "--start", "2026-11-20T09:00:00", "--late", "0.05", "--posts", "6"], check=True)
    return folder


@dataclass
class Lab:
    """Drivers of one script on one input and one state store, and the library of their savepoints."""

    drivers: Drivers
    script: str | Path
    conf: Mapping[str, str]
    args: tuple[str, ...]
    """With `{output}` for each job's own output directory."""
    starts: dict[str, int] = field(default_factory=dict)

    @property
    def library(self) -> LocalStorage:
        return LocalStorage(self.drivers.folder / "savepoints")

    @property
    def version(self) -> Version:
        code = self.script if isinstance(self.script, str) else self.script.read_text()
        return version("job.py", code, args=self.args, conf=dict(self.conf))

    def start(self, job: str, sink_logs: Mapping[Any, str] | None = None) -> Driver:
        """A new run of `job`, on the checkpoint that it has."""
        self.starts[job] = self.starts.get(job, 0) + 1
        args = [argument.replace("{output}", str(self.drivers.output(job))) for argument in self.args]
        return self.drivers.start(f"{job}-{self.starts[job]}", self.script, *args, job=job, conf=self.conf, sink_logs=sink_logs)

    def finish(self, driver: Driver) -> None:
        assert driver.wait(PATIENCE_S) == 0, driver.log

    def committed(self, job: str, query: str = "engagement") -> int:
        """The newest committed batch, -1 before the first."""
        folder = self.drivers.checkpoints(job) / query
        return max(batches(folder, "commits"), default=-1) if (folder / "commits").is_dir() else -1

    def kill(self, driver: Driver) -> None:
        """SIGKILL for the driver and its JVM, as when the machine fails."""
        process = psutil.Process(driver.process.pid)
        for victim in (*process.children(recursive=True), process):
            with suppress(psutil.NoSuchProcess):  # a worker that has ended meanwhile
                victim.kill()
        driver.process.wait()

    def await_batch(self, driver: Driver, job: str, batch: int, query: str = "engagement") -> None:
        driver.until(lambda _: self.committed(job, query) >= batch, PATIENCE_S)

    def source(self, job: str) -> JobSource:
        lines = (self.drivers.folder / "runs" / f"{job}-1" / QUERIES_FILE).read_bytes().splitlines()
        return job_source(JobName(job), RunId(f"{job}-1"), self.version, [json_lines.query(line) for line in lines])

    def take(self, job: str, savepoint: str, choice: BatchChoice | None = None) -> Savepoint:
        naming = take.Naming(SavepointId(savepoint), time.time_ns() // 1_000_000)
        return take.take(self.source(job), choice or Newest(), self.library, naming)

    def forking(self, savepoint: Savepoint, job: str, sinks: Mapping[str, str] | None = None) -> restore.Fork:
        """What the engine is told for a new job with the same code."""
        return restore.Fork(
            JobName(job),
            str(self.drivers.checkpoints(job)),
            self.version,
            str(self.drivers.output(savepoint.job)),
            lambda: str(uuid.uuid4()),
            sinks or {},
        )

    def fork(self, savepoint: Savepoint, job: str, sinks: Mapping[str, str] | None = None) -> Driver:
        """Restores `savepoint` for a new job with the same code, and starts that."""
        target = self.forking(savepoint, job, sinks)
        return self.start(job, restore.restore(self.library, savepoint.id, target, savepoint.created_ms).sink_logs)

    def resume(self, savepoint: Savepoint) -> Driver:
        """Takes the job itself back to `savepoint`: the checkpoint it had is set aside, its output stays."""
        checkpoints = self.drivers.checkpoints(savepoint.job)
        checkpoints.rename(checkpoints.with_name(f"{savepoint.job}-before-{self.starts[savepoint.job]}"))
        target = restore.Resume(savepoint.job, str(checkpoints))
        return self.start(savepoint.job, restore.restore(self.library, savepoint.id, target, savepoint.created_ms).sink_logs)

    def output(self, job: str, folder: str = "engagement") -> list[str]:
        """The parquet files that the sink's log lists: what a reader of the output sees."""
        storage = LocalStorage(self.drivers.output(job) / folder)
        newest = max(
            int(path.name.removesuffix(".compact")) for path in Path(storage.url, "_spark_metadata").iterdir() if path.name[0] != "."
        )
        log = sink_log.read(storage, newest, sink_log.FOLDER)
        return [file.path.removeprefix("file://") for file in sink_log.live_files(log, newest)]


def rows(files: Sequence[str]) -> int:
    return int(duckdb.sql(f"SELECT count(*) FROM read_parquet({list(files)})").fetchall()[0][0])


def differences(ours: Sequence[str], reference: Sequence[str]) -> list[tuple[object, ...]]:
    """Rows that one side has more often than the other, with the side: empty where the outputs are equal as multisets."""
    a, b = (f"SELECT * FROM read_parquet({list(files)})" for files in (ours, reference))
    return duckdb.sql(
        f"SELECT 'only ours' AS side, * FROM ({a} EXCEPT ALL {b}) UNION ALL SELECT 'only reference', * FROM ({b} EXCEPT ALL {a})"
    ).fetchall()
