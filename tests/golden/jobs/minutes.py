"""Sums of the events of some keys, into a table of the job's own warehouse.

The module and the file of the keys are beside the script; the query has no name, only a checkpoint location. A run that ends makes no batch
without input, whose watermark would make rows late that an uninterrupted run still counts.
"""

import argparse
from pathlib import Path

from pyspark.sql import SparkSession
from sums import sums

parser = argparse.ArgumentParser()
parser.add_argument("--input", required=True)
parser.add_argument("--output", required=True)
args = parser.parse_args()

keys = (Path(__file__).parent / "keys.txt").read_text().split()
spark = SparkSession.builder.config("spark.sql.streaming.noDataMicroBatches.enabled", "false").getOrCreate()
events = spark.readStream.schema("key STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(args.input)
writer = sums(events, keys).coalesce(1).writeStream.option("checkpointLocation", f"{args.output}/checkpoints/minutes")
writer.trigger(availableNow=True).toTable("minutes").awaitTermination()
