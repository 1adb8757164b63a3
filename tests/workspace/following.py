"""A job that leads, and what follows it: several queries, one without a name, on both stores; rate, availableNow, empty batches."""

from __future__ import annotations

import json
import os
from pathlib import Path

SCRIPT = """
import json, os, sys
from pyspark.sql import SparkSession, functions as F
folder, output, without = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()

def noted(name):
    def write(frame, batch):
        rows = sorted(json.dumps(row.asDict(), default=str) for row in frame.collect())
        assert frame.count() == len(rows)
        os.makedirs(f"{output}/{name}", exist_ok=True)
        with open(f"{output}/{name}/{batch}.part", "w") as file:
            json.dump(rows, file)
        os.replace(f"{output}/{name}/{batch}.part", f"{output}/{name}/{batch}.json")
    return write

events = spark.readStream.schema("k string, v int, t timestamp").option("maxFilesPerTrigger", 1).json(folder)
events = events.where(F.col("v") != int(without))
windows = events.withWatermark("t", "4 minutes").groupBy("k", F.window("t", "5 minutes")).agg(F.sum("v").alias("s"))
per_key = spark.readStream.format("rate").option("rowsPerSecond", 20).load().groupBy((F.col("value") % 3).alias("k")).count()
a = windows.writeStream.outputMode("append").foreachBatch(noted("query-0")).trigger(availableNow=True).start()
b = events.withColumn("now", F.current_timestamp()).writeStream.queryName("plain").format("parquet").option("path", output + "/parquet")
b = b.trigger(availableNow=True).start()
spark.conf.set(
    "spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
)
spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
c = per_key.writeStream.queryName("rates").outputMode("update").foreachBatch(noted("rates"))
c = c.trigger(processingTime="1 second").start()
for query in (a, b, c):
    query.awaitTermination()
"""
ROWS = 6


def rows(number: int) -> list[tuple[str, int, str]]:
    """Key, value and time of the rows of one file: two of each key, in a minute that goes on, which closes windows."""
    return [(f"k{at % 3}", number + at, f"2024-01-01T00:{number * 2:02d}:00") for at in range(ROWS)]


def write_files(folder: Path, numbers: range) -> None:
    """Files that are read one a batch, in the order of their numbers."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        aside = folder / f".{number:03d}.json"
        aside.write_text("".join(json.dumps(dict(zip("kvt", row, strict=True))) + "\n" for row in rows(number)))
        os.utime(aside, (1_700_000_000 + number,) * 2)
        aside.rename(folder / f"{number:03d}.json")


def noted(output: Path, query: str) -> dict[int, list[str]]:
    """Batch -> its rows, as the query noted them."""
    return {int(path.stem): json.loads(path.read_text()) for path in (output / query).glob("*.json")}
