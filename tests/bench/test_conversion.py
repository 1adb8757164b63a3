"""Seconds and memory that it takes to move a million keys from the HDFS-backed store to RocksDB: the whole of the sandbox's process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runtimes import OWN
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.sandbox import states
from pipelines.sandbox.conversions import ConversionTask
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.readings import Far
from pipelines.savepoint import conversion
from tests.bench.peak import Peak
from tests.bench.test_rescaling import JOIN_STORES, KEYS, MILLIONS, counted, joined
from tests.savepoint.matrix import FORMAT_2, HDFS, configured

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3600)]

PARTITIONS = 4


@pytest.mark.parametrize(
    ("query", "operator", "stores", "mode"),
    [(counted, "stateStoreSave", ("default",), "update"), (joined, "symmetricHashJoin", JOIN_STORES, "append")],
)
def test_conversion(spark: Any, tmp_path: Path, query: Callable[[Any], Any], operator: str, stores: tuple[str, ...], mode: str) -> None:
    one_version = {"spark.sql.streaming.maxBatchesToRetainInMemory": "1"}
    session = configured(spark, HDFS | one_version | {"spark.sql.shuffle.partitions": str(PARTITIONS)})
    session.range(KEYS).write.parquet(str(tmp_path / "keys"))
    checkpoint, home = tmp_path / "checkpoint", tmp_path / "task"
    keys = session.readStream.schema("id LONG").parquet(str(tmp_path / "keys"))
    writer = query(keys).writeStream.outputMode(mode).format("noop").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    batch = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    image = QueryImage("q", "", batch, 0, 0, (), "hdfs", 1, (Operator(0, operator, PARTITIONS, stores),), {}, "noop", "", 0, 0)  # type: ignore[arg-type]
    made = [
        (Store("q", str(checkpoint), batch, "hdfs", 1, 0, operator, name), shape)
        for _, name, shape in conversion.shapes(str(checkpoint), image)
    ]
    home.mkdir()
    steps: dict[str, float] = {}
    peak = Peak()

    def watch(far: Far) -> None:
        steps.setdefault(far.step, time.perf_counter())

    began = time.perf_counter()
    task = ConversionTask(TASK_FORMAT, "bench", "local[2]", FORMAT_2, tuple(store for store, _ in made), tuple(shape for _, shape in made))
    with peak:
        done = states.rewrite(Pool(), home, task, OWN, watch)
    ended = time.perf_counter()
    assert all(read.before == read.after for read in done.stores) and done.stores[0].before.rows == KEYS
    spent = " · ".join(
        f"{step} {after - at:.1f} s" for (step, at), after in zip(steps.items(), [*list(steps.values())[1:], ended], strict=True)
    )
    print(f"{query.__name__}, {MILLIONS:g} million keys, to RocksDB: {ended - began:.1f} s ({spent}), {peak}")
