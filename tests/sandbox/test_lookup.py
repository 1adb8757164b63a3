"""Keys looked up by Spark in one partition: keys of a table are found where the partitioner put them, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.sandbox import lookup, reading
from pipelines.sandbox.counts import TASK_FORMAT
from pipelines.sandbox.lookup import EVERY, NoSuchKeyColumns
from pipelines.sandbox.lookups import LookUpTask
from tests.sandbox.test_reading import Read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = {
    ("hdfs", "default", ""): "stateStoreSave",
    ("rocksdb_format2", "default", ""): "stateStoreSave",
    ("join", "left", ""): "symmetricHashJoin",
    ("join", "right-keyWithIndexToValue", ""): "symmetricHashJoin",
    ("named", "default", ""): "dedupe",
    ("transform", "default", "total"): "transformWithStateExec",
    ("transform", "default", "seen"): "transformWithStateExec",
}
"""Golden checkpoint, store and variable -> Spark's name of the operator."""
EACH = 4
"""Of so many keys in a row of a table one is looked up: each takes a query of Spark."""


def asked(read: Read, operator_name: str, key: dict[str, str], variable: str = "") -> LookUpTask:
    store = replace(read.store, operator_name=operator_name)
    partitions = sum(path.name.isdigit() for path in (Path(read.store.checkpoint) / "state" / "0").iterdir())
    return LookUpTask(TASK_FORMAT, "test", "local[2]", {}, store, variable, partitions, key)


def texts(key: dict[str, Any], above: str = "") -> dict[str, str]:
    """A key as somebody types it: each column by its path."""
    typed: dict[str, str] = {}
    for name, value in key.items():
        typed |= texts(value, f"{above}{name}.") if isinstance(value, dict) else {f"{above}{name}": str(value)}
    return typed


@pytest.mark.spark
def test_keys_are_found_in_their_one_partition_in_every_kind_of_state(spark: SparkSession, tmp_path: Path) -> None:
    for (golden, store, variable), operator_name in TABLES.items():
        read = Read(spark, tmp_path, golden, store, variable)
        whole = asked(read, "none of them", {}, variable)
        rows = reading.table(spark, whole.store, variable)
        rows.sparkSession.conf.set("spark.sql.session.timeZone", "UTC")
        held = [json.loads(text) for (text,) in reading.named(rows).select(reading.as_json("*")).collect()]
        assert held
        for row in held[::EACH]:
            answer = lookup.look_up(spark, asked(read, operator_name, texts(row["key"]), variable))
            assert answer.partition == row["partition_id"], (golden, row)
            assert row in answer.rows and all(state_row["key"] == row["key"] for state_row in answer.rows)
        absent = {
            path: "2001-01-01" if "T" in text else "0" if text.isdecimal() else "nobody" for path, text in texts(held[0]["key"]).items()
        }
        assert lookup.look_up(spark, asked(read, operator_name, absent, variable)).rows == ()
        assert lookup.look_up(spark, asked(read, "sessionWindow", texts(held[0]["key"]), variable)).partition == EVERY


@pytest.mark.spark
def test_a_key_that_the_table_cannot_have_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    read = Read(spark, tmp_path, "hdfs", "default")
    window = {"window.start": "2026-01-01T00:30:00Z", "window.end": "2026-01-01T00:40:00Z"}
    for key, says in (
        ({"post": "p0"}, "window.start (timestamp) is missing"),
        ({**window, "post": "p0", "user": "x"}, "no key column user; there are window.start, window.end, post"),
        ({**window, "window.end": "soon", "post": "p0"}, "'soon' is no timestamp, which window.end is"),
        ({}, "is missing"),
    ):
        with pytest.raises(NoSuchKeyColumns) as refused:
            lookup.look_up(spark, asked(read, "stateStoreSave", key))
        assert says in str(refused.value)
    quoted = lookup.look_up(spark, asked(read, "stateStoreSave", {**window, "post": "it's \\ 'p0' OR true"}))
    assert quoted.rows == ()
