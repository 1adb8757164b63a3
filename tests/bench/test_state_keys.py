"""Milliseconds that one key of a job's state takes, cold and warm, at a million keys; and the difference between two of its batches."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.verbs.face import do
from pipelines.verbs.state_difference import CompareState, ShowStateDifference
from pipelines.verbs.state_key import LookUpKey
from tests.savepoint.matrix import FORMAT_2, configured
from tests.warm import ONE, one_environment
from tests.workspace.conftest import House, query_line

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3600)]

KEYS = round(float(os.environ.get("TIDEMARK_BENCH_MILLIONS", "1")) * 1_000_000)
STORES = {"hdfs": {}, "rocksdb": FORMAT_2}
WARM = 5


@pytest.mark.parametrize("store", STORES)
def test_a_key_and_a_difference(spark: Any, tmp_path: Path, store: str) -> None:
    session = configured(spark, STORES[store] | {"spark.sql.shuffle.partitions": "4"})
    source, checkpoint = tmp_path / "keys", tmp_path / "checkpoint"
    for keys in (range(KEYS), range(0, KEYS + KEYS // 100, 10)):
        session.range(keys.start, keys.stop, keys.step).write.mode("append").parquet(str(source))
        rows = session.readStream.schema("id LONG").parquet(str(source)).groupBy("id").count()
        writer = rows.writeStream.outputMode("update").format("noop").option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()
    house = House(tmp_path / "ws")
    run = house.begin("counts")
    at = Path(run.checkpoints) / "counts"
    at.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(checkpoint, at)
    house.append(run, QUERIES_FILE, query_line(str(at), "").replace('"parquet"', '"noop"'))
    house.see(run, RunState.STOPPED)
    one_environment()
    house.face.context.sparks.open(tmp_path / "pool", ONE)
    try:
        took = [_timed(house, key) for key in (5, *range(10, 10 + WARM))]
        began = time.perf_counter()
        named = do(house.face, CompareState("counts@0", "counts")).result or ""
        differed_s = time.perf_counter() - began
        (table,) = house.face.ask(ShowStateDifference(named)).tables
    finally:
        house.face.context.sparks.close()
        house.face.close()
    assert (table.changes.added, table.changes.removed, table.changes.changed) == (KEYS // 1000, 0, KEYS // 10)
    print(f"{store}, {KEYS:,} keys: first key {took[0]:.0f} ms, then {statistics.median(took[1:]):.0f} ms; difference {differed_s:.1f} s")


def _timed(house: House, key: int) -> float:
    began = time.perf_counter()
    answer = do(house.face, LookUpKey("counts", {"id": str(key)}))
    assert [row["value"]["count"] for row in answer.rows] == [2 if key % 10 == 0 else 1]
    return (time.perf_counter() - began) * 1000
