"""What a RocksDB store holds, undecoded: by it a store before and after a rewriting are compared."""

from __future__ import annotations

from typing import Any

from pipelines.sandbox import store_reader
from pipelines.sandbox.counting import FAMILY
from pipelines.sandbox.counts import Store
from pipelines.sandbox.rewrites import Contents


def contents(spark: Any, store: Store) -> Contents:
    """What a RocksDB store holds: undecoded, so that a row that was written otherwise is another row."""
    return summed(store_reader.undecoded(store_reader.session_of(spark, store), store))


def summed(frame: Any) -> Contents:
    """What the undecoded rows of `frame` are."""
    from pyspark.sql import functions as F

    hashed = F.sum(F.xxhash64(FAMILY, "key_bytes", "value_bytes").cast("decimal(20,0)"))
    row = frame.agg(F.count("*"), F.coalesce(hashed, F.lit(0)).cast("string")).first()
    return Contents(int(row[0]), str(row[1]))
