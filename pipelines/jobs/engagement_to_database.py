"""Views and clicks of each post, minute by minute, in a table of a database: each batch exactly once.

The story: others ask a database, not files. The helper `exactly_once` writes each batch with its number in one transaction, so a driver
that dies and does its batch again leaves nothing twice. A fork has another schema, or another file, and its parent's rows stay as they
are.
"""

from __future__ import annotations

import argparse

from exactly_once import exactly_once
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

EVENTS = "event_id STRING, event_time TIMESTAMP, post STRING, kind STRING, promoted BOOLEAN, user STRING"
COLUMNS = "minute TIMESTAMP, post TEXT, views BIGINT, clicks BIGINT"


def engagement(events: DataFrame) -> DataFrame:
    counts = events.withWatermark("event_time", "20 seconds").groupBy(F.window("event_time", "1 minute"), "post")
    views, clicks = F.count_if(F.col("kind") == "view"), F.count_if(F.col("kind") == "click")
    return counts.agg(views.alias("views"), clicks.alias("clicks")).select("window.start", "post", "views", "clicks")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    events = spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).json(args.events)
    write = exactly_once(args.database, args.schema, "engagement", COLUMNS)
    return [engagement(events).writeStream.queryName("engagement").foreachBatch(write)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", required=True, help="directory of JSON files: events")
    parser.add_argument("--database", required=True, help="postgresql://…, duckdb:FILE or sqlite:FILE")
    parser.add_argument("--schema", default="main", help="schema of the table; SQLite has none")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
