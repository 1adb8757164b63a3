"""The sums of `counts.py` on each way that RocksDB keeps state: a query each, into Parquet files.

A file is a batch, and there are no others: a run that ends and goes on has the batches of one that does not.
"""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

STATE = "spark.sql.streaming.stateStore"
CHANGELOG, FORMAT = f"{STATE}.rocksdb.changelogCheckpointing.enabled", f"{STATE}.checkpointFormatVersion"
STORES = {"plain": ("false", "1"), "changelog": ("true", "1"), "format2": ("true", "2")}

parser = argparse.ArgumentParser()
parser.add_argument("--input", required=True)
parser.add_argument("--output", required=True)
args = parser.parse_args()

spark = SparkSession.builder.getOrCreate()
spark.conf.set(f"{STATE}.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
for name, (changelog, version) in STORES.items():
    spark.conf.set(CHANGELOG, changelog)
    spark.conf.set(FORMAT, version)
    events = spark.readStream.schema("key STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(args.input)
    sums = events.withWatermark("ts", "4 minutes").groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum"))
    writer = sums.select("window.start", "key", "sum").coalesce(1).writeStream.queryName(name).format("parquet")
    writer.trigger(availableNow=True).start(f"{args.output}/{name}")
for query in spark.streams.active:
    query.awaitTermination()
