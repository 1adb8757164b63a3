"""Views and clicks of each post, in windows of event time; paid ones apart.

The story: a social network lets people see how their posts do. Events come late and out of order, so state remembers each window's counts
until the watermark has passed it.
"""

from __future__ import annotations

import argparse

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

EVENTS = "event_id STRING, event_time TIMESTAMP, post STRING, kind STRING, promoted BOOLEAN, user STRING"
DEFAULTS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", required=True, help="directory of JSON files")
    parser.add_argument("--output", required=True, help="directory that gets engagement/")
    parser.add_argument("--window", default="10 seconds")
    parser.add_argument("--delay", default="20 seconds", help="how late an event may come")
    parser.add_argument("--trigger", default="1 second")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    parser.add_argument("--max-files", type=int, default=1, help="files in a batch")
    parser.add_argument("--checkpoint", help="needed under plain spark-submit")
    return parser.parse_args()


def counted_as() -> Column:
    """What an event counts for: a paid one not for the post, but for its promotion."""
    return F.when(F.col("promoted"), F.concat("post", F.lit(" (paid)"))).otherwise(F.col("post"))


def engagement(events: DataFrame, args: argparse.Namespace) -> DataFrame:
    counts = (
        events.withWatermark("event_time", args.delay)
        .groupBy(F.window("event_time", args.window), counted_as().alias("post"))
        .agg(
            F.sum((F.col("kind") == "view").cast("long")).alias("views"),
            F.sum((F.col("kind") == "click").cast("long")).alias("clicks"),
        )
    )
    window = F.col("window")
    return counts.select(window["start"].alias("window_start"), window["end"].alias("window_end"), "post", "views", "clicks")


def session() -> SparkSession:
    """What --conf says wins over the defaults of this job."""
    spark = SparkSession.builder.getOrCreate()
    for key, value in DEFAULTS.items():
        if not spark.sparkContext.getConf().contains(key):
            spark.conf.set(key, value)
    return spark


def main() -> None:
    args = arguments()
    events = session().readStream.schema(EVENTS).option("maxFilesPerTrigger", args.max_files).json(args.events)
    writer = engagement(events, args).writeStream.queryName("engagement").outputMode("append").format("parquet")
    writer = writer.trigger(availableNow=True) if args.available_now else writer.trigger(processingTime=args.trigger)
    if args.checkpoint:
        writer = writer.option("checkpointLocation", args.checkpoint)
    writer.start(f"{args.output.rstrip('/')}/engagement").awaitTermination()


if __name__ == "__main__":
    main()
