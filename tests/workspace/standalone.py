"""A job for a cluster: two queries, on both stores; its executors wait in a batch while a gate is closed, and say who they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import until

SCRIPT = """
import json, os, sys, time
from pyspark.sql import SparkSession, functions as F
folder, gate, output, once = sys.argv[1:]
keys_folder = output.removeprefix("file://") + "/keys"
spark = SparkSession.builder.getOrCreate()

def passed(value):
    if os.path.exists(gate):
        with open(f"{gate}.waits", "w") as file:
            file.write(str(os.getpid()))
    while os.path.exists(gate):
        time.sleep(0.05)
    return value

def noted(frame, batch):
    rows = sorted(json.dumps(row.asDict(), default=str) for row in frame.collect())
    os.makedirs(keys_folder, exist_ok=True)
    with open(f"{keys_folder}/{batch}.part", "w") as file:
        json.dump(rows, file)
    os.replace(f"{keys_folder}/{batch}.part", f"{keys_folder}/{batch}.json")

def begin(query):
    return (query.trigger(availableNow=True) if once == "once" else query).start()

events = spark.readStream.schema("k string, v int, t timestamp").option("maxFilesPerTrigger", 1).json(folder)
events = events.withColumn("v", F.udf(passed, "int")("v"))
windows = events.withWatermark("t", "4 minutes").groupBy("k", F.window("t", "5 minutes")).agg(F.sum("v").alias("s"))
keys = begin(events.groupBy("k").agg(F.sum("v").alias("s")).writeStream.queryName("keys").outputMode("update").foreachBatch(noted))
spark.conf.set(
    "spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
)
spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
rows = begin(windows.writeStream.queryName("windows").format("parquet").option("path", output + "/windows"))
for query in (keys, rows):
    query.awaitTermination()
"""
QUERIES = ("keys", "windows")


class Gate:
    """A file that holds executors up in the middle of a batch."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waits = path.with_name(f"{path.name}.waits")

    @contextmanager
    def closed(self) -> Iterator[None]:
        self._waits.unlink(missing_ok=True)
        self.path.touch()
        try:
            yield
        finally:
            self.path.unlink()

    def waiting(self) -> int:
        """The process of an executor that waits in a batch."""
        until(lambda: self._waits.is_file() and self._waits.read_text(), 300, what="no executor came to the gate")
        return int(self._waits.read_text())
