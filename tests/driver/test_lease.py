"""Two drivers never work on one checkpoint: real drivers, real JVMs, and what the kernel says when they are killed."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.domain.runs import EVENTS_FILE, EXIT_FILE
from pipelines.driver.lease import PATIENCE_VARIABLE, Leases
from pipelines.driver.records import Records
from tests import java
from tests.driver.process import ROOT, Driver, Drivers, batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEADY = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load()
rows.writeStream.queryName("counts").format("parquet").trigger(processingTime="200 milliseconds").start(sys.argv[1] + "/counts")
"""
AT_ONCE, PATIENT = {PATIENCE_VARIABLE: "0"}, {PATIENCE_VARIABLE: "300"}


def committed(drivers: Drivers) -> int:
    commits = drivers.checkpoints() / "counts"
    return max(batches(commits, "commits"), default=-1) if (commits / "commits").is_dir() else -1


def jvm_of(driver: Driver) -> psutil.Process:
    (jvm,) = java.jvms(psutil.Process(driver.process.pid))
    return jvm


def leases(folder: Path, run: str = "mine") -> Leases:
    folder.mkdir(parents=True, exist_ok=True)
    spec = RunSpec(SPEC_FORMAT, RunId(run), JobName("job"), VersionId("v-1"), "", (), {}, "", str(folder), "")
    return Leases(spec, Records(folder, lambda: 1_800_000_000_000))


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """The lock in this process's hands: Java's file locks and Python's are the kernel's, and the JVM is another process."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@pytest.mark.spark
def test_a_checkpoint_has_one_driver_until_its_jvm_is_gone(drivers: Drivers, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    output = str(drivers.output())
    first = drivers.start("run-1", STEADY, output)
    first.until(lambda _: committed(drivers) >= 1)

    second = drivers.start("run-2", STEADY, output, environment=AT_ONCE)
    assert second.wait() == 1
    assert second.exit["error_class"] == "checkpoint.leased", second.log
    assert f"in use by run run-1 (process {first.process.pid} on " in second.exit["message"]
    again = subprocess.run(
        [sys.executable, "-m", "pipelines.driver", str(first.folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (again.returncode, "run.leased" in again.stdout) == (5, True), again
    assert not (first.folder / EXIT_FILE).exists()
    seen = committed(drivers)
    first.until(lambda _: committed(drivers) > seen + 1)

    jvm = jvm_of(first)
    jvm.suspend()
    try:
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        assert jvm.is_running(), "the driver is gone, and its Spark hangs"
        monkeypatch.setenv(PATIENCE_VARIABLE, "0.3")
        with pytest.raises(Conflict, match="in use by run run-1") as refused:
            leases(drivers.checkpoints()).take("counts", drivers.checkpoints())
        assert f"end process {jvm.pid}" in refused.value.hint
        third = drivers.start("run-3", STEADY, output, environment=PATIENT)
        third.until(lambda d: "waiting for it to end" in d.log)
        assert third.queries == []
    finally:
        jvm.kill()
    left = committed(drivers)
    third.until(lambda _: committed(drivers) > left + 1)
    third.terminate()
    assert third.wait() == 0, third.log

    assert json.loads((drivers.checkpoints() / ".leases" / "counts.json").read_text())["run"] == "run-3"
    values = spark.read.parquet(f"{output}/counts").select("value").toPandas()["value"]
    assert len(values) >= 3 * (committed(drivers) + 1)
    assert sorted(values) == list(range(len(values))), "every row once, none is lost"


@pytest.mark.spark
def test_the_garbage_collector_does_not_take_a_lease(spark: SparkSession, tmp_path: Path) -> None:
    mine = leases(tmp_path)
    mine.take("counts", tmp_path)
    mine.take("counts", tmp_path)
    del mine
    gc.collect()
    for _ in range(3):
        spark._jvm.java.lang.System.gc()  # type: ignore[union-attr]
    with pytest.raises(BlockingIOError), held(tmp_path / ".leases" / "counts.lock"):
        pass


@pytest.mark.spark
def test_a_lease_that_another_process_has(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATIENCE_VARIABLE, "0.2")
    with held(tmp_path / ".leases" / "counts.lock"):
        with pytest.raises(Conflict, match="Another process works on query counts's checkpoint") as refused:
            leases(tmp_path).take("counts", tmp_path)
        assert refused.value.code == "checkpoint.leased"
        leases(tmp_path).take("others", tmp_path)
    leases(tmp_path, "late").take("counts", tmp_path)
    assert json.loads((tmp_path / ".leases" / "counts.json").read_text())["run"] == "late"


def test_a_checkpoint_that_is_not_local_has_none_and_says_so(tmp_path: Path) -> None:
    leases(tmp_path).take("counts", None)
    (event,) = [json.loads(line) for line in (tmp_path / EVENTS_FILE).read_text().splitlines()]
    assert (event["kind"], event["query"]) == ("checkpoint.unleased", "counts")
