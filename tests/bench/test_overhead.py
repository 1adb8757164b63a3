"""What the driver costs beside plain `spark-submit` of the same script over the same input: processor time of all their processes.

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
from pathlib import Path

import psutil
import pyspark
import pytest
from scipy import stats

from tests import java
from tests.driver.process import CONF, Drivers

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3_600)]
PAIRS = int(os.environ.get("TIDEMARK_OVERHEAD_PAIRS", "8"))
FILES = int(os.environ.get("TIDEMARK_OVERHEAD_FILES", "150"))
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


def interval(over: Sequence[float]) -> tuple[float, float]:
    """The mean, and by how much the true one may be off it at 95 % (Student's t); two values are needed."""
    return statistics.mean(over), float(stats.sem(over) * stats.t.ppf(0.975, len(over) - 1))


def submit(script: Path, *arguments: str, conf: Mapping[str, str], log: Path) -> None:
    """Plain `spark-submit`, to its end."""
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    confs = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]", *confs, str(script), *arguments]
    with log.open("wb") as file:
        subprocess.run(command, env=environ, stdout=file, stderr=file, check=True)


def test_the_driver_beside_spark_submit(tmp_path: Path) -> None:
    java.prepare(compiles=True)
    events, script = tmp_path / "events", tmp_path / "sums.py"
    write(events)
    script.write_text(SCRIPT)
    drivers = Drivers(tmp_path)

    def plain(number: int) -> None:
        places = str(tmp_path / f"plain-{number}"), str(tmp_path / f"checkpoint-{number}")
        submit(script, str(events), *places, conf=CONF, log=tmp_path / f"plain-{number}.log")

    def ours(number: int) -> None:
        output = str(tmp_path / f"ours-{number}")
        driver = drivers.start(f"r-{number}", script, str(events), output, "", job=f"job-{number}")
        assert driver.wait(600) == 0, driver.log

    over = []
    for number in range(PAIRS):
        order = (plain, ours) if number % 2 else (ours, plain)
        took = {work.__name__: cpu_s(lambda work=work, number=number: work(number)) for work in order}  # type: ignore[misc]
        over.append(took["ours"] / took["plain"] - 1)
        print(f"\n{number}: {took['ours']:.1f} s, plain {took['plain']:.1f} s: {over[-1]:+.1%}", end="", flush=True)
    mean, half = interval(over)
    print(f"\n{FILES} batches, {PAIRS} pairs: {mean:+.1%} of processor time, 95 % between {mean - half:+.1%} and {mean + half:+.1%}")
    print(f"({mean / LIMIT:.1f} of the {LIMIT:.0%} expected)")
