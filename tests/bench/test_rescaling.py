"""Seconds and memory that rescaling takes a million keys: the whole of the sandbox's process, with its counting before and after."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runtimes import OWN
from pipelines.sandbox import states
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.readings import Far
from pipelines.sandbox.rewrites import RewriteTask
from tests.bench.peak import Peak
from tests.savepoint.matrix import FORMAT_2, configured

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3600)]

MILLIONS = float(os.environ.get("TIDEMARK_BENCH_MILLIONS", "1"))
KEYS = round(MILLIONS * 1_000_000)
SIDES = ("left", "right")
JOIN_STORES = tuple(f"{side}-{kind}" for side in SIDES for kind in ("keyToNumValues", "keyWithIndexToValue"))


def counted(keys: Any) -> Any:
    return keys.groupBy("id").count()


def joined(keys: Any) -> Any:
    return keys.alias("a").join(keys.alias("b"), "id")


def valued(keys: Any) -> Any:
    """A transformWithState with a value a key; its class is made here so that Python workers get it by value."""
    from pyspark.sql.streaming import StatefulProcessor

    class Last(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.last = handle.getValueState("last", "n LONG")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:
            self.last.update((sum(1 for _ in rows),))
            return iter(())

        def close(self) -> None:
            pass

    return keys.groupBy("id").transformWithState(Last(), "id LONG", "update", "none")


@pytest.mark.parametrize(
    ("query", "operator", "stores", "mode"),
    [
        (counted, "stateStoreSave", ("default",), "update"),
        (joined, "symmetricHashJoin", JOIN_STORES, "append"),
        (valued, "transformWithStateInPySparkExec", ("default",), "update"),
    ],
)
def test_rescaling(spark: Any, tmp_path: Path, query: Callable[[Any], Any], operator: str, stores: tuple[str, ...], mode: str) -> None:
    session = configured(spark, FORMAT_2 | {"spark.sql.shuffle.partitions": "4"})
    session.range(KEYS).write.parquet(str(tmp_path / "keys"))
    checkpoint, home = tmp_path / "checkpoint", tmp_path / "task"
    keys = session.readStream.schema("id LONG").parquet(str(tmp_path / "keys"))
    writer = query(keys).writeStream.outputMode(mode).format("noop").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    batch = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    held = tuple(Store("q", str(checkpoint), batch, "rocksdb", 2, 0, operator, store) for store in stores)
    home.mkdir()
    steps: dict[str, float] = {}

    def watch(far: Far) -> None:
        steps.setdefault(far.step, time.perf_counter())

    began, peak = time.perf_counter(), Peak()
    with peak:
        done = states.rewrite(Pool(), home, RewriteTask(TASK_FORMAT, "bench", "local[2]", {}, held, 8), OWN, watch)
    ended = time.perf_counter()
    assert all(read.before == read.after for read in done.stores) and done.stores[0].before.rows == KEYS
    spent = " · ".join(
        f"{step} {after - at:.1f} s" for (step, at), after in zip(steps.items(), [*list(steps.values())[1:], ended], strict=True)
    )
    print(f"{query.__name__}, {MILLIONS:g} million keys, 4 → 8 partitions: {ended - began:.1f} s ({spent}), {peak}")
