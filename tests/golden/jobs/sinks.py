"""One query for each other kind of sink."""

import argparse
import json
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

parser = argparse.ArgumentParser()
parser.add_argument("--input", required=True)
parser.add_argument("--output", required=True)
args = parser.parse_args()

spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("key STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 3).json(args.input)
counts = events.groupBy("key").count()


def write(rows: DataFrame, batch: int) -> None:
    folder = Path(args.output) / "each_batch"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{batch}.json").write_text("\n".join(json.dumps(row.asDict()) for row in rows.collect()))


class Count:
    def process(self, row: object) -> None:
        pass


spark.sql(f"CREATE TABLE IF NOT EXISTS kept (key STRING, n INT) USING parquet LOCATION '{args.output}/kept'")
WRITERS = {
    "each_batch": lambda rows: rows.foreachBatch(write).start(),
    "each_row": lambda rows: rows.foreach(Count()).start(),
    "json": lambda rows: rows.format("json").start(f"{args.output}/json"),
    "nothing": lambda rows: rows.format("noop").start(),
    "table": lambda rows: rows.toTable("kept"),
}
for name, start in WRITERS.items():
    start(events.select("key", "n").coalesce(1).writeStream.queryName(name).trigger(availableNow=True))
for name in ("console", "memory"):
    counts.writeStream.queryName(name).outputMode("complete").trigger(availableNow=True).format(name).start()
for query in spark.streams.active:
    query.awaitTermination()
