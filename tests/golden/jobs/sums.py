"""Sums of a key's events in windows of event time."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def sums(events: DataFrame, keys: Sequence[str]) -> DataFrame:
    kept = events.where(F.col("key").isin(*keys)).withWatermark("ts", "4 minutes")
    return kept.groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum")).select("window.start", "key", "sum")
