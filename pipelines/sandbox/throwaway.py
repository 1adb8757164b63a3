"""What warms a JVM up: a query like most jobs', its state read back, a plan. Nothing of it is left."""

from __future__ import annotations

import runpy
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PLANNING = "pipelines.driver.planning.warm"
VIEW = "throwaway"
CONF = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.stateStore.providerClass": PROVIDER,
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def run(master: str, conf: Mapping[str, str], folder: Path, is_over: Callable[[], bool]) -> None:
    """Runs one step after the other in the empty `folder`, until somebody waits for the process; leaves a context to be stopped.

    `conf`: what the JVM was started with, without which the session would be given another one."""
    folder.mkdir()
    try:
        spark = _session(master, conf, folder)
        for step in (_stream, _read_state, _plan):
            if is_over():
                return
            step(spark, folder)
    finally:
        shutil.rmtree(folder)


def _session(master: str, conf: Mapping[str, str], folder: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("throwaway").config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    for key, value in {**conf, **CONF}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _stream(spark: Any, folder: Path) -> None:
    """Two batches of a window over files."""
    from pyspark.sql import functions as F

    source = folder / "source"
    for number in range(2):
        rows = spark.range(20).select((F.col("id") % 3).alias("post"), F.timestamp_seconds(F.col("id") * 60 + number).alias("ts"))
        rows.coalesce(1).write.mode("append").json(str(source))
    late = (
        spark.readStream.schema("post LONG, ts TIMESTAMP").option("maxFilesPerTrigger", 1).json(str(source)).withWatermark("ts", "1 hour")
    )
    counts = late.groupBy(F.window("ts", "10 minutes"), "post").agg(F.count("*"), F.sum("post"))
    counts.createOrReplaceTempView(VIEW)
    writer = counts.writeStream.outputMode("update").format("noop").trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()


def _read_state(spark: Any, folder: Path) -> None:
    frame = spark.read.format("statestore").load(str(folder / "checkpoint"))
    frame.groupBy("partition_id").count().collect()
    frame.count()
    frame.write.parquet(str(folder / "rows"))


def _plan(spark: Any, folder: Path) -> None:
    """What plans a job's code is the driver's, and started by its name; it finds the session, and the query by its view."""
    arguments = list(sys.argv)
    sys.argv = [PLANNING, str(folder / "planned"), str(folder / "checkpoint"), VIEW]
    try:
        runpy.run_module(PLANNING, run_name="__main__")
    finally:
        sys.argv = arguments
