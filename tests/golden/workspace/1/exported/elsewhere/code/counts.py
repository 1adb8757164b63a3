"""Sums of a key's events in windows of event time, into Parquet files."""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

WHERE = "true"

parser = argparse.ArgumentParser()
parser.add_argument("--input", required=True)
parser.add_argument("--output", required=True)
parser.add_argument("--available-now", action="store_true")
args = parser.parse_args()

spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("key STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(args.input).where(WHERE)
sums = events.withWatermark("ts", "4 minutes").groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum"))
writer = sums.select("window.start", "key", "sum").coalesce(1).writeStream.queryName("counts").format("parquet")
writer = writer.trigger(availableNow=True) if args.available_now else writer.trigger(processingTime="0 seconds")
writer.start(args.output + "/counts").awaitTermination()
