"""What a RocksDB store holds, undecoded: by it a store before and after a rewriting are compared."""

from __future__ import annotations

from typing import Any

from pipelines.sandbox.counting import FAMILY, FORMAT_CONF
from pipelines.sandbox.counts import Store
from pipelines.sandbox.rewrites import Contents


def contents(spark: Any, store: Store) -> Contents:
    """What a RocksDB store holds: undecoded, so that a row that was written otherwise is another row."""
    reading = spark.newSession()
    reading.conf.set(FORMAT_CONF, str(store.state_format))
    reader = reading.read.format("statestore").option("batchId", store.batch).option("operatorId", store.operator)
    return summed(reader.option("storeName", store.store).option("_readAllColumnFamilies", "true").load(store.checkpoint))


def summed(frame: Any) -> Contents:
    """What the undecoded rows of `frame` are."""
    from pyspark.sql import functions as F

    hashed = F.sum(F.xxhash64(FAMILY, "key_bytes", "value_bytes").cast("decimal(20,0)"))
    row = frame.agg(F.count("*"), F.coalesce(hashed, F.lit(0)).cast("string")).first()
    return Contents(int(row[0]), str(row[1]))
