"""A job whose state has the size one asks for: a row a key with one kilobyte that does not compress, updated a little in each batch."""

from __future__ import annotations

import argparse

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F


def payload() -> Column:
    """1,024 hexadecimal digits made from the key: LZ4 finds no repetition in them."""
    return F.concat(*[F.sha2(F.concat(F.lit(str(part)), F.col("value").cast("string")), 512) for part in range(8)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True, help="rows in each batch")
    parser.add_argument("--trigger", default="500 milliseconds")
    arguments = parser.parse_args()
    spark = (
        SparkSession.builder.config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .getOrCreate()
    )
    numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", arguments.rows).option("numPartitions", 2).load()
    kept = numbers.groupBy("value").agg(F.count("*").alias("seen"), F.first(payload()).alias("payload"))
    query = kept.writeStream.queryName("state").format("noop").outputMode("update").trigger(processingTime=arguments.trigger).start()
    query.awaitTermination()


if __name__ == "__main__":
    main()
