"""Example keys found by Spark: a key whose rows differ, with just the rows that each point has of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.checkpoint import closure
from pipelines.sandbox import key_example, reading
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.key_examples import NEW, OLD, SAVED, Examples, ExampleTask, Points
from pipelines.storage.addresses import open_storage
from tests.checkpoint.materialise import materialise
from tests.sandbox.test_reading import GOLDEN, PROVIDERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = (("hdfs", "default", ""), ("join", "left", ""), ("transform", "default", "seen"))
"""Golden checkpoint, store and variable."""


def points(folder: Path, golden: str, store: str, variable: str, **batches: int) -> Points:
    """A checkpoint of its own for each point."""
    provider, state_format = PROVIDERS.get(golden, ("rocksdb", 2))
    source, stores = open_storage(str(GOLDEN / golden / "checkpoint")), {}
    for side, batch in batches.items():
        at = folder / f"{golden}-{batch}"
        if not at.exists():
            materialise(closure.closure(source, batch), source, open_storage(str(at)))
        stores[side] = Store("q", str(at), batch, provider, state_format, 0, "", store)
    return Points(stores, variable)


def examples(spark: SparkSession, *tables: Points) -> Examples:
    return key_example.examples(spark, ExampleTask(TASK_FORMAT, "test", "local[2]", {}, tables))


def held(spark: SparkSession, table: Points, side: str, key: Any) -> list[Any]:
    """The rows of a key, one by one as Spark's source has them."""
    rows = reading.named(reading.table(spark, table.stores[side], table.variable))
    for name, value in key_example.CONFS.items():
        rows.sparkSession.conf.set(name, value)
    every = (json.loads(text) for (text,) in rows.select(reading.as_json("*")).collect())
    keys = [{name: row.pop(name) for name in ("key", "user_map_key") if name in row} | {"row": row} for row in every]
    return sorted(
        (entry["row"] | {"partition_id": 0} for entry in keys if {name: entry[name] for name in entry if name != "row"} == key),
        key=json.dumps,
    )


@pytest.mark.spark
def test_a_key_that_differs_has_its_rows_of_each_point(spark: SparkSession, tmp_path: Path) -> None:
    for golden, store, variable in TABLES:
        table = points(tmp_path, golden, store, variable, saved=4, new=6, old=5)
        (example,) = examples(spark, table).found
        assert set(example.rows) == {SAVED, OLD, NEW} and example.rows[OLD] != example.rows[NEW]
        for side in (SAVED, OLD, NEW):
            rows = sorted(({**row, "partition_id": 0} for row in example.rows[side]), key=json.dumps)
            assert rows == held(spark, table, side, example.key), (golden, side)
    same = points(tmp_path, "hdfs", "default", "", saved=4, new=5, old=5)
    moved = points(tmp_path, "hdfs", "default", "", saved=4, new=5)
    assert examples(spark, same).found == ()
    (alone,) = examples(spark, same, moved, same).found
    assert set(alone.rows) == {SAVED, NEW} and alone.rows[SAVED] != alone.rows[NEW]
