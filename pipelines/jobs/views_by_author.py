"""How long each author is read, minute by minute: a stream joined with a table that stands still.

The story: a view knows its page, a table of pages knows their authors. Spark reads the table again in each batch; the stream's offsets
say nothing of it, so a savepoint goes on with the table as it is then."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEWS = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"
PAGES = "page STRING, author STRING"


def reading_time(views: DataFrame, pages: DataFrame) -> DataFrame:
    read = views.withWatermark("at", "1 minute").join(pages, "page").groupBy(F.window("at", "1 minute"), "author")
    return read.agg(F.sum("seconds").alias("seconds")).select("window.start", "author", "seconds")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    views = spark.readStream.schema(VIEWS).option("maxFilesPerTrigger", 1).json(args.views)
    pages = spark.read.schema(PAGES).json(args.pages)
    return [
        reading_time(views, pages).writeStream.queryName("reading_time").format("parquet").option("path", f"{args.output}/reading_time")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--views", required=True, help="directory of JSON files: views")
    parser.add_argument("--pages", required=True, help="directory of JSON files: pages")
    parser.add_argument("--output", required=True, help="directory to write to")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
