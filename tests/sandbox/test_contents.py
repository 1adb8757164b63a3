"""What a store holds is told by its contents: equal however they are divided, another where one value is another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.sandbox.counts import Store
from pipelines.sandbox.rewrites import Contents
from pipelines.sandbox.undecoded import contents
from tests.savepoint.matrix import CHANGELOG, configured

pytestmark = pytest.mark.spark


def test_contents_are_told_apart_by_one_value_not_by_partitions(spark: Any, tmp_path: Path) -> None:
    first = held(spark, tmp_path / "first", "2", "v")
    assert first.rows == 5
    assert held(spark, tmp_path / "other partitions", "3", "v") == first
    other = held(spark, tmp_path / "other value", "2", "IF(k = 3, v + 1, v)")
    assert other.rows == first.rows and other.digest != first.digest


def held(spark: Any, folder: Path, partitions: str, value: str) -> Contents:
    """Of a sum of five keys, that a query left."""
    session = configured(spark, CHANGELOG | {"spark.sql.shuffle.partitions": partitions})
    place, rows = folder.with_name(folder.name.replace(" ", "_")), folder / "rows"
    session.range(5).selectExpr("id AS k", "id AS v").selectExpr("k", f"{value} AS v").write.parquet(str(rows))
    sums = session.readStream.schema("k LONG, v LONG").parquet(str(rows)).groupBy("k").sum("v")
    writer = sums.writeStream.outputMode("update").format("noop").option("checkpointLocation", str(place))
    writer.trigger(availableNow=True).start().awaitTermination()
    return contents(spark, Store("q", str(place), 0, "rocksdb", 1, 0, "stateStoreSave", "default"))
