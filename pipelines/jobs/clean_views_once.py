"""Views without what is broken, each once: state comes in.

The story: most streaming jobs only clean and move rows. Their savepoint is where they are in the input and what they have written, no
more; a fork goes on from there just as exactly."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEWS = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"


def observed(views: DataFrame) -> DataFrame:
    """The same rows; Spark says with each batch how many they were, and how many of them are left out."""
    return views.observe("quality", F.count("*").alias("rows"), F.count_if(F.col("page").isNull()).alias("rejected"))


def clean(views: DataFrame) -> DataFrame:
    return (
        observed(views)
        .where("page IS NOT NULL")
        .withWatermark("at", "1 minute")
        .dropDuplicatesWithinWatermark(["view"])
        .select("view", "reader", F.regexp_extract("page", "[0-9]+", 0).cast("int").alias("page"), "at", F.to_date("at").alias("day"))
    )


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    views = spark.readStream.schema(VIEWS).option("maxFilesPerTrigger", 1).json(args.views)
    return [clean(views).writeStream.queryName("clean").format("parquet").option("path", f"{args.output}/clean")]


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
