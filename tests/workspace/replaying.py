"""A job whose history is replayed: windows without a name and plain rows in files, counts in memory, one file a batch."""

from __future__ import annotations

import json
import os
from pathlib import Path

SCRIPT = """
import sys
from pyspark.sql import SparkSession, functions as F
folder, output = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("k string, v int, t timestamp").option("maxFilesPerTrigger", 1).json(folder)
windows = events.withWatermark("t", "4 minutes").groupBy("k", F.window("t", "5 minutes")).agg(F.sum("v").alias("s"))
counts = events.groupBy("k").count()
a = windows.writeStream.outputMode("append").format("parquet").option("path", output + "/windows").start()
b = events.writeStream.queryName("plain").format("json").option("path", output + "/plain").start()
c = counts.writeStream.queryName("counts").outputMode("complete").format("noop").start()
d = spark.readStream.schema("k string").json(folder + "-empty").writeStream.queryName("idle")
d = d.format("parquet").option("path", output + "/idle").start()
for query in (a, b, c, d):
    query.awaitTermination()
"""
ROWS = 3


def rows(number: int) -> list[dict[str, object]]:
    """The rows of one file: one of each key, in a minute that goes on, which closes windows. The seventh has none."""
    kept = 0 if number == 7 else ROWS
    return [{"k": f"k{at}", "v": number * 10 + at, "t": f"2024-01-01T00:{number * 2:02d}:00"} for at in range(kept)]


def write_files(folder: Path, numbers: range) -> None:
    """Files that are read one a batch, in the order of their numbers."""
    for path in (folder, folder.with_name(f"{folder.name}-empty")):
        path.mkdir(exist_ok=True)
    for number in numbers:
        aside = folder / f".{number:03d}.json"
        aside.write_text("".join(json.dumps(row) + "\n" for row in rows(number)))
        os.utime(aside, (1_700_000_000 + number,) * 2)
        aside.rename(folder / f"{number:03d}.json")
