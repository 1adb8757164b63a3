"""How many views each page has in a minute, and how long it is read, from a partner's feed over HTTP.

The story: others' data come over HTTP, from a server that answers late, half, twice or not at all. The source `http_log` reads it as a
log: offsets are numbers of rows, so a savepoint of the job can be forked, and the job can go back, as far as the feed holds its rows.
"""

from __future__ import annotations

import argparse

from http_log import HttpLog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEW = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"


def reading(rows: DataFrame) -> DataFrame:
    views = rows.select(F.from_json("row", VIEW).alias("it")).select("it.*").where("page IS NOT NULL")
    minutes = views.withWatermark("at", "20 seconds").groupBy(F.window("at", "1 minute"), "page")
    figures = (F.count("*").alias("views"), F.round(F.sum("seconds"), 1).alias("seconds"))
    return minutes.agg(*figures).select("window.start", "page", "views", "seconds")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    spark.dataSource.register(HttpLog)
    rows = spark.readStream.format("http_log").option("url", args.feed).option("maxRowsPerBatch", args.rows).load()
    return [reading(rows).writeStream.queryName("reading").format("parquet").option("path", f"{args.output}/reading")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feed", required=True, help="URL of the feed")
    parser.add_argument("--output", required=True, help="directory to write to")
    parser.add_argument("--rows", type=int, default=1000, help="of a batch, at most")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
