"""From the start of a job to its first committed batch: the processor's time and the clock's, with shared classes and without."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from pipelines.sandbox import classes
from pipelines.sandbox.java import java_home
from tests.driver.process import Drivers

pytestmark = [pytest.mark.bench, pytest.mark.spark]
ROUNDS = 3
JOB = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
posts = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1000).load()
posts = posts.withWatermark("timestamp", "1 minute").withColumn("post", F.col("value") % 10)
counts = posts.groupBy(F.window("timestamp", "1 minute"), "post").count()
counts.writeStream.queryName("counts").outputMode("update").format("noop").trigger(processingTime="1 hour").start()
"""


@dataclass(frozen=True)
class Cost:
    cpu_s: float
    wall_s: float


def start(folder: Path, submit_options: str) -> Cost:
    """The cost of one start, until its first batch is committed."""
    drivers, begun = Drivers(folder), time.monotonic()
    try:
        driver = drivers.start("run-1", JOB, environment={classes.SUBMIT_OPTIONS: submit_options, "SPARK_LAUNCHER_OPTS": ""})
        driver.until(lambda _: (drivers.checkpoints() / "counts" / "commits" / "0").exists(), 300)
        known = psutil.Process(driver.process.pid)
        return Cost(sum(sum(process.cpu_times()[:4]) for process in (known, *known.children(recursive=True))), time.monotonic() - begun)
    finally:
        drivers.end()


def test_a_start_with_shared_classes_takes_less_of_the_processor(tmp_path: Path) -> None:
    java = java_home()
    classes.make(java, "")
    ways = {"without": "", "with": classes.submit_options(java, "", {})}
    costs = {way: [start(tmp_path / f"{way}{n}", options) for n in range(ROUNDS)] for way, options in ways.items()}
    best = {way: min(rounds, key=lambda cost: cost.cpu_s) for way, rounds in costs.items()}
    for way, cost in best.items():
        print(f"{way} shared classes: {cost.cpu_s:.1f} s of the processor, {cost.wall_s:.1f} s")
    print(f"ratio: {best['with'].cpu_s / best['without'].cpu_s:.2f} of the processor, {best['with'].wall_s / best['without'].wall_s:.2f}")
    assert best["with"].cpu_s < best["without"].cpu_s
