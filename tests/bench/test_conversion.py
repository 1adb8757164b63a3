"""Seconds and memory that it takes to move a million keys from the HDFS-backed store to RocksDB: the whole of the sandbox's process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.runtimes import OWN
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.sandbox import states
from pipelines.sandbox.conversions import ConversionTask
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.readings import Far
from pipelines.savepoint import conversion
from tests.bench.test_rescaling import JOIN_STORES, MILLIONS, counted, joined
from tests.savepoint.matrix import FORMAT_2, HDFS, configured

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3600)]

PARTITIONS = 4


@pytest.mark.parametrize(
    ("query", "operator", "stores", "mode"),
    [(counted, "stateStoreSave", ("default",), "update"), (joined, "symmetricHashJoin", JOIN_STORES, "append")],
)
def test_conversion(spark: Any, tmp_path: Path, query: Callable[[Any], Any], operator: str, stores: tuple[str, ...], mode: str) -> None:
    session = configured(spark, HDFS | {"spark.sql.shuffle.partitions": str(PARTITIONS)})
    session.range(MILLIONS * 1_000_000).write.parquet(str(tmp_path / "keys"))
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
    assert all(read.before == read.after for read in done.stores) and done.stores[0].before.rows == MILLIONS * 1_000_000
    spent = " · ".join(
        f"{step} {after - at:.1f} s" for (step, at), after in zip(steps.items(), [*list(steps.values())[1:], ended], strict=True)
    )
    print(f"{query.__name__}, {MILLIONS} million keys, to RocksDB: {ended - began:.1f} s ({spent}), {peak}")


class Peak:
    """The largest memory of the processes that this one starts during a block, in bytes: the sandbox's Python, and its JVM."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}
        self._over = threading.Event()
        self._known = {process.pid for process in psutil.Process().children(recursive=True)}
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def __str__(self) -> str:
        return ", ".join(f"{name} at most {size / 1e6:,.0f} MB" for name, size in sorted(self.bytes.items()))

    def _look(self) -> None:
        while not self._over.wait(0.2):
            for process in psutil.Process().children(recursive=True):
                if process.pid not in self._known:
                    self._note(process)

    def _note(self, process: psutil.Process) -> None:
        try:
            name, size = process.name(), process.memory_info().rss
        except psutil.NoSuchProcess:
            return
        self.bytes[name] = max(self.bytes.get(name, 0), size)
