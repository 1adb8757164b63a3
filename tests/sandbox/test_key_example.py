"""Example keys found by Spark: a key whose rows differ, with just the rows that each point has of it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.checkpoint import closure
from pipelines.domain.plain_json import rebuilt
from pipelines.sandbox import key_example, reading
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.key_examples import NEW, OLD, SAVED, Examples, ExampleTask, FoundExample, Points
from pipelines.sandbox.readings import Far
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


def examples(spark: SparkSession, folder: Path, *tables: Points, limit_s: float = 1e6) -> Examples:
    return key_example.examples(spark, ExampleTask(TASK_FORMAT, "test", "local[2]", {}, tables, limit_s), folder)


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
        (example,) = examples(spark, tmp_path, table).found
        assert set(example.rows) == {SAVED, OLD, NEW} and example.rows[OLD] != example.rows[NEW]
        for side in (SAVED, OLD, NEW):
            rows = sorted(({**row, "partition_id": 0} for row in example.rows[side]), key=json.dumps)
            assert rows == held(spark, table, side, example.key), (golden, side)
    same = points(tmp_path, "hdfs", "default", "", saved=4, new=5, old=5)
    moved = points(tmp_path, "hdfs", "default", "", saved=4, new=5)
    assert examples(spark, tmp_path, same).found == ()
    (alone,) = examples(spark, tmp_path, same, moved, same).found
    assert set(alone.rows) == {SAVED, NEW} and alone.rows[SAVED] != alone.rows[NEW]
    far = Far.read(tmp_path)
    assert far is not None and far.step == "looking for an example key"
    assert examples(spark, tmp_path, moved, limit_s=0) == Examples((), (("q", 0),)), "the time is over before anything was found"


@pytest.mark.spark
def test_a_search_of_spark_that_would_not_end_is_ended(spark: SparkSession) -> None:
    """The session is free for what comes next."""
    end_jobs = spark.sparkContext.cancelAllJobs
    with pytest.raises(key_example.TooLate), key_example.ended_at(time.monotonic() + 0.5, end_jobs):
        spark.range(10**15).selectExpr("sum(hash(id))").collect()
    assert not list(spark.sparkContext.statusTracker().getActiveJobsIds())
    with key_example.ended_at(time.monotonic() + 1e6, end_jobs):
        assert spark.range(3).count() == 3


def test_what_begins_after_the_limit_is_ended_too_and_an_error_of_its_own_stays_one() -> None:
    ended, asked = threading.Event(), list[int]()

    def end_jobs() -> None:
        asked.append(1)
        if len(asked) > 1:
            ended.set()

    with pytest.raises(key_example.TooLate), key_example.ended_at(time.monotonic() + 0.01, end_jobs):
        ended.wait()
        raise RuntimeError("the job was cancelled")
    with pytest.raises(ValueError, match="own"), key_example.ended_at(time.monotonic() + 1e6, end_jobs):
        raise ValueError("own")
    with pytest.raises(key_example.TooLate), key_example.ended_at(time.monotonic(), end_jobs):
        pytest.fail("it began")


def test_an_answer_is_read_as_it_was_written() -> None:
    found = Examples((FoundExample("q", 0, {"key": {"k": 1}}, {SAVED: ({"value": {"n": 1}},)}),), (("q", 1),))
    written = json.loads(json.dumps(asdict(found)))
    assert rebuilt(Examples, written).unfinished == found.unfinished
    assert json.loads(json.dumps(asdict(rebuilt(Examples, written)))) == written
