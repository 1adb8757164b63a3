"""How often each page was looked at in the last two minutes, anew every half minute.

The story: an editor watches which pages rise and fall. Windows overlap, so a view counts in four of them."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEWS = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"


def popularity(views: DataFrame) -> DataFrame:
    seen = views.withWatermark("at", "1 minute").groupBy(F.window("at", "2 minutes", "30 seconds"), "page")
    return seen.agg(F.count("*").alias("views")).select("window.start", "window.end", "page", "views")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    views = spark.readStream.schema(VIEWS).option("maxFilesPerTrigger", 1).json(args.views)
    return [popularity(views).writeStream.queryName("popularity").format("parquet").option("path", f"{args.output}/popularity")]


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
