"""One query where there were two: views by page alone, each minute.

The story: one application often feeds several tables. Each query has batches and state of its own; a savepoint holds both, each at a
batch that it had committed."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEWS = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"


def by(column: str, views: DataFrame) -> DataFrame:
    counted = views.withWatermark("at", "1 minute").groupBy(F.window("at", "1 minute"), column).agg(F.count("*").alias("views"))
    return counted.select("window.start", column, "views")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    views = spark.readStream.schema(VIEWS).option("maxFilesPerTrigger", 1).json(args.views)
    return [
        by(column, views).writeStream.queryName(f"by_{column}").format("parquet").option("path", f"{args.output}/by_{column}")
        for column in ("page",)
    ]


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
