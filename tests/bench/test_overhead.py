"""What the driver costs beside plain `spark-submit` of the same script over the same input: processor time of all their processes,
of whole runs and of a window of batches in between.

Run by hand: `python3 -m tests -m bench tests/bench/test_overhead.py -s`. Runs come in pairs, one after the other, in changing order.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark
import pytest

from tests import java
from tests.bench.processor_time import Used
from tests.bench.steady import Pair, Window, measured, shown
from tests.driver.process import CONF, Drivers

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3_600)]
PAIRS = int(os.environ.get("TIDEMARK_OVERHEAD_PAIRS", "8"))
FILES = int(os.environ.get("TIDEMARK_OVERHEAD_FILES", "150"))
FIRST, BEFORE_END = min(30, FILES // 3), 3
"""The window of batches begins after this one, and ends so many before the last."""
LIMIT = 0.02
PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): children of a child that has ended become this process's, so their time is counted."""
SCRIPT = """
import sys
from pyspark.sql import SparkSession, functions as F
events, output, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("k STRING, v INT, t TIMESTAMP").option("maxFilesPerTrigger", 1).json(events)
sums = rows.withWatermark("t", "1 minute").groupBy(F.window("t", "1 minute"), "k").agg(F.sum("v").alias("v"))
writer = sums.writeStream.queryName("sums").format("parquet").option("path", output).trigger(availableNow=True)
writer = writer.option("checkpointLocation", checkpoint) if checkpoint else writer
writer.start().awaitTermination()
"""


def write(events: Path) -> None:
    """One file a batch, whose times go on by half a minute."""
    events.mkdir()
    for number in range(FILES):
        path = events / f"{number:04d}.json"
        minute, second = divmod(30 * number, 60)
        at = f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:{second:02d}"
        path.write_text("".join(json.dumps({"k": f"k{row % 50}", "v": row, "t": at}) + "\n" for row in range(500)))
        os.utime(path, (1_700_000_000 + number,) * 2)


def cpu_s(work: Callable[[], object]) -> float:
    """Seconds of a processor of all processes that `work` starts: also of a JVM that outlives the driver that began it for a moment."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    while orphans := psutil.Process().children():  # a JVM's own children come when it has ended
        for orphan in orphans:
            os.waitpid(orphan.pid, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def plain_python() -> dict[str, str]:
    """The variables that say on which Python plain `spark-submit` runs a script and its workers."""
    return {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def submit_command(script: Path, arguments: Sequence[str], conf: Mapping[str, str]) -> list[str]:
    """Plain `spark-submit` of `script`."""
    confs = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    return [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]", *confs, str(script), *arguments]


@dataclass(frozen=True)
class Laboratory:
    """Where the script runs, on which events."""

    folder: Path
    drivers: Drivers

    @property
    def script(self) -> Path:
        return self.folder / "sums.py"

    def plain(self, number: int) -> Used:
        """What `spark-submit` used in the window of batches, once it has ended."""
        checkpoint = self.folder / f"checkpoint-{number}"
        arguments = [str(self.folder / "events"), str(self.folder / f"plain-{number}"), str(checkpoint)]
        with (self.folder / f"plain-{number}.log").open("wb") as log:
            command = submit_command(self.script, arguments, CONF)
            process = subprocess.Popen(command, env={**os.environ, **plain_python()}, stdout=log, stderr=log)
        used = Window((checkpoint,), FIRST, FILES - BEFORE_END).used(process)
        assert process.wait(600) == 0
        return used

    def ours(self, number: int) -> Used:
        """The same of the driver."""
        job = f"job-{number}"
        driver = self.drivers.start(f"r-{number}", self.script, str(self.folder / "events"), str(self.drivers.output(job)), "", job=job)
        used = Window((self.drivers.checkpoints(job) / "sums",), FIRST, FILES - BEFORE_END).used(driver.process)
        assert driver.wait(600) == 0, driver.log
        return used


def test_the_driver_beside_spark_submit(tmp_path: Path) -> None:
    java.prepare(compiles=True)
    here = Laboratory(tmp_path, Drivers(tmp_path))
    write(tmp_path / "events")
    here.script.write_text(SCRIPT)
    whole: list[float] = []
    pairs: list[Pair] = []
    for number in range(PAIRS):
        used: dict[str, Used] = {}
        whole_s: dict[str, float] = {}
        for arm in (here.plain, here.ours) if number % 2 else (here.ours, here.plain):
            name = arm.__name__
            whole_s[name] = cpu_s(lambda arm=arm, name=name, number=number, used=used: used.update({name: arm(number)}))  # type: ignore[misc]
        whole.append(whole_s["ours"] / whole_s["plain"] - 1)
        pairs.append(Pair(**used))
        print(f"\n{number}: whole {whole_s['ours']:.1f} s, plain {whole_s['plain']:.1f} s: {whole[-1]:+.1%}", end="", flush=True)
        print(f"; a batch in ms: {pairs[-1].kinds(FILES - BEFORE_END - FIRST)}", end="", flush=True)
    print(f"\n{PAIRS} pairs, load {os.getloadavg()[0]:.0f}: {shown(whole)} of processor time of whole runs of {FILES} batches; ")
    total, work, attributed = measured(pairs)
    print(f"after batch {FIRST} {total}, without compilers and garbage collection {work}, on the driver's threads {attributed}")
    print(f"({statistics.mean(map(Pair.attributed, pairs)) / LIMIT:.2f} of the {LIMIT:.0%} expected)")
