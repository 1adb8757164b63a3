"""Seconds and memory that it takes to move a million keys from the HDFS-backed store to RocksDB: the whole of the sandbox's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runtimes import OWN
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.sandbox import states
from pipelines.sandbox.conversions import ConversionTask
from pipelines.sandbox.counts import TASK_FORMAT
from pipelines.sandbox.pool import Pool
from pipelines.savepoint import conversion
from tests.bench import keyed_state
from tests.bench.keyed_state import COUNTED, JOINED, KEYS, MILLIONS, PARTITIONS, Kind, Steps
from tests.bench.peak import Peak
from tests.savepoint.matrix import FORMAT_2, HDFS, configured

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3600)]


@keyed_state.named(COUNTED, JOINED)
def test_conversion(spark: Any, tmp_path: Path, kind: Kind) -> None:
    one_version = {"spark.sql.streaming.maxBatchesToRetainInMemory": "1"}
    session = configured(spark, HDFS | one_version | {"spark.sql.shuffle.partitions": str(PARTITIONS)})
    made = keyed_state.made(session, tmp_path, kind)
    operator = Operator(0, kind.operator, PARTITIONS, kind.stores)
    image = QueryImage("q", "", made.batch, 0, 0, (), "hdfs", 1, (operator,), {}, "noop", "", 0, 0)  # type: ignore[arg-type]
    shapes = {name: shape for _, name, shape in conversion.shapes(str(made.checkpoint), image)}
    held = tuple(store for store in keyed_state.stores(made, kind, "hdfs", 1) if store.store in shapes)
    task = ConversionTask(TASK_FORMAT, "bench", "local[2]", FORMAT_2, held, tuple(shapes[store.store] for store in held))
    peak, steps = Peak(), Steps()
    with peak:
        done = states.rewrite(Pool(), made.home, task, OWN, steps)
    spent = str(steps)
    assert all(read.before == read.after for read in done.stores) and done.stores[0].before.rows == KEYS
    print(f"{kind.query.__name__}, {MILLIONS:g} million keys, to RocksDB: {spent}, {peak}")
