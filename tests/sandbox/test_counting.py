"""Rows as `numRowsTotal` counts them: by rule, and with Spark on checkpoints that Spark wrote."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.domain.runtimes import OWN
from pipelines.sandbox import counting, states
from pipelines.sandbox.counts import TASK_FORMAT, CountTask, Store
from pipelines.sandbox.pool import Pool

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = Path(__file__).parents[1] / "golden"
JOIN_STORES = ("left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue")


@pytest.mark.parametrize(
    ("families", "rows"),
    [
        ({"default": 5}, 5),
        ({"l": 12, "m": 12, "$rowCounter_l": 3, "v": 3}, 18),
        ({"m": 12, "$min_l": 3, "l": 12, "$ttl_l": 3, "$ttl_m": 12, "$ttl_v": 3, "$count_l": 3, "v": 3}, 18),
        ({"$procTimers_timestampToKey": 9, "$procTimers_keyToTimestamp": 9, "l": 12, "m": 12, "v": 3, "$rowCounter_l": 3}, 18),
        ({}, 0),
    ],
)
def test_sparks_own_families_are_not_counted_and_a_list_once(families: Mapping[str, int], rows: int) -> None:
    """The families and what the progress said, both measured with Spark 4.3.0."""
    assert counting.counted(families) == rows


def stores(golden: str, batch: int, operator: str, names: tuple[str, ...], provider: str = "rocksdb", state_format: int = 2) -> list[Store]:
    at = str(GOLDEN / golden / "checkpoint")
    return [Store("q", at, batch, provider, state_format, 0, operator, name) for name in names]


def task(*state_stores: Store) -> CountTask:
    return CountTask(TASK_FORMAT, "test", "local[2]", {"spark.log.level": "ERROR"}, state_stores)


@pytest.mark.spark
def test_spark_reads_every_kind_of_store(spark: SparkSession) -> None:
    state_stores = [
        *stores("limit", 12, "globalLimit", ("default",), "hdfs", 1),
        *stores("limit_format2", 6, "globalLimit", ("default",)),
        *stores("named", 12, "dedupe", ("default",)),
        *stores("join", 6, "symmetricHashJoin", JOIN_STORES),
    ]
    counts = list(counting.count(spark, task(*state_stores)))
    assert [(count.error_class, count.message) for count in counts] == [("", "")] * len(state_stores)
    assert [count.rows for count in counts[:2]] == [1, 1]
    assert all(count.rows > 0 for count in counts)


@pytest.mark.spark
def test_damaged_state_is_told_from_state_that_this_spark_cannot_read(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "limit_format2" / "checkpoint", tmp_path / "limit")
    for path in (tmp_path / "limit" / "state" / "0" / "0").glob("*.changelog"):
        path.write_bytes(bytes(byte ^ 0xFF for byte in path.read_bytes()))
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
    broken = Store("q", str(tmp_path / "limit"), 6, "rocksdb", 2, 0, "globalLimit", "default")
    unnamed = Store("q", str(GOLDEN / "transform" / "checkpoint"), 6, "hdfs", 2, 0, "transformWithStateInPySparkExec", "default")
    damaged, unread = counting.count(spark, task(broken, unnamed))
    assert damaged.damaged and damaged.error_class
    assert (unread.damaged, unread.error_class) == (False, "STDS_REQUIRED_OPTION_UNSPECIFIED")


@pytest.mark.spark
def test_a_process_of_its_own_counts_and_says_how_far_it_is(tmp_path: Path) -> None:
    done: list[int] = []
    answer = states.count(Pool(), tmp_path, task(*stores("limit", 12, "globalLimit", ("default",), "hdfs", 1)), OWN, done.append)
    assert (answer.spark_version, [count.rows for count in answer.rows]) == ("4.3.0", [1])
    assert done[0] == 0 and done[-1] == 1
