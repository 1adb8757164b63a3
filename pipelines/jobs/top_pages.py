"""The five pages that were looked at most, after each batch.

The story: a ranking is of all that has come so far, and Spark cannot append one. In complete mode each batch brings every count;
`foreachBatch` keeps the first five. A batch that is done again writes over its own folder, so nothing is there twice."""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEWS = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"
MOST = 5


def counts(views: DataFrame) -> DataFrame:
    return views.where("page IS NOT NULL").groupBy("page").agg(F.count("*").alias("score"))


def top(counted: DataFrame) -> DataFrame:
    return counted.orderBy(F.desc("score"), "page").limit(MOST)


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    views = spark.readStream.schema(VIEWS).option("maxFilesPerTrigger", 1).json(args.views)

    def write(counted: DataFrame, batch: int) -> None:
        top(counted).write.mode("overwrite").parquet(f"{args.output}/top/batch={batch}")

    return [counts(views).writeStream.queryName("top").outputMode("complete").foreachBatch(write)]


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
