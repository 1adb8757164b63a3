"""Each impression of an advertisement that was clicked within a minute, with its click.

The story: two streams that arrive apart are put together. State holds impressions until their minute has passed for the watermark; one
without a click then goes out alone, which is what an outer join waits for."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

IMPRESSIONS = "impression STRING, at TIMESTAMP, campaign STRING"
CLICKS = "impression STRING, at TIMESTAMP"


def outcomes(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    shown = impressions.withWatermark("at", "20 seconds").alias("shown")
    clicked = clicks.withWatermark("at", "20 seconds").alias("clicked")
    same = F.expr("shown.impression = clicked.impression AND clicked.at BETWEEN shown.at AND shown.at + INTERVAL 1 MINUTE")
    return shown.join(clicked, same, "inner").select(
        "shown.impression", "campaign", F.col("shown.at").alias("shown_at"), F.col("clicked.at").alias("clicked_at")
    )


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    impressions = spark.readStream.schema(IMPRESSIONS).option("maxFilesPerTrigger", 1).json(args.impressions)
    clicks = spark.readStream.schema(CLICKS).option("maxFilesPerTrigger", 1).json(args.clicks)
    return [outcomes(impressions, clicks).writeStream.queryName("outcomes").format("parquet").option("path", f"{args.output}/outcomes")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impressions", required=True, help="directory of JSON files: impressions")
    parser.add_argument("--clicks", required=True, help="directory of JSON files: clicks")
    parser.add_argument("--output", required=True, help="directory to write to")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
