"""Views of each page, minute by minute and each once, from a Kinesis stream whose shards are split and merged.

The story: who writes to a stream may write twice, so a view counts once. The source `kinesis` notes how far each shard was read, so a
savepoint of the job can be forked, and the job can go back, as far as the stream keeps its records.
"""

from __future__ import annotations

import argparse

from kinesis import Kinesis
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

VIEW = "view STRING, at TIMESTAMP, page STRING, reader STRING, seconds DOUBLE"


def popularity(records: DataFrame) -> DataFrame:
    views = records.select(F.from_json("data", VIEW).alias("it")).select("it.*").where("page IS NOT NULL")
    each = views.withWatermark("at", "40 seconds").dropDuplicates(["view", "at"])
    minutes = each.groupBy(F.window("at", "1 minute"), "page")
    return minutes.agg(F.count("*").alias("views")).select("window.start", "page", "views")


def queries(spark: SparkSession, args: argparse.Namespace) -> list[DataStreamWriter]:
    spark.dataSource.register(Kinesis)
    place = {"endpoint": args.endpoint, "region": args.region, "anonymous": "true"} if args.endpoint else {}
    records = spark.readStream.format("kinesis_records").options(stream=args.stream, maxRowsPerBatch=args.rows, **place).load()
    return [popularity(records).writeStream.queryName("popularity").format("parquet").option("path", f"{args.output}/popularity")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stream", required=True, help="name of the Kinesis stream")
    parser.add_argument("--endpoint", default="", help="of a Kinesis that looks at no credentials, such as moto's; else AWS")
    parser.add_argument("--region", default="us-east-1", help="of that endpoint")
    parser.add_argument("--output", required=True, help="directory to write to")
    parser.add_argument("--rows", type=int, default=1000, help="of a batch, at most")
    parser.add_argument("--available-now", action="store_true", help="take what is there, then end")
    args = parser.parse_args()
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    for query in [writer.trigger(**trigger).start() for writer in queries(SparkSession.builder.getOrCreate(), args)]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
