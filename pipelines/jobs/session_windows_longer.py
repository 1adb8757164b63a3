"""The visits of each reader: views that follow each other within two minutes.

The story: how long people stay. A visit has no fixed length; it ends when its reader has been away for longer than the gap."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEWS = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"


def visits(views: DataFrame) -> DataFrame:
    stayed = views.withWatermark("at", "1 minute").groupBy(F.session_window("at", "2 minutes"), "reader")
    measured = stayed.agg(F.count("*").alias("views"), F.sum("seconds").alias("seconds"))
    return measured.select("session_window.start", "session_window.end", "reader", "views", "seconds")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    views = spark.readStream.schema(VIEWS).option("maxFilesPerTrigger", 1).json(args.views)
    return [visits(views).writeStream.queryName("visits").format("parquet").option("path", f"{args.output}/visits")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--views", required=True, help="directory of JSON files: views")
    parser.add_argument("--output", required=True, help="directory to write to")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
