"""Seconds and memory that it takes to have a function rewrite the state of a million keys: the whole of the sandbox's process."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import contracts
from pipelines.domain import state_variables
from pipelines.domain.joins import ROWS
from pipelines.domain.runtimes import OWN
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.sandbox import states
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.migrations import MigrationTask, Target
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.readings import Far
from pipelines.savepoint import migration
from pipelines.storage.addresses import open_storage
from pipelines.workspace import variables
from tests.bench.peak import Peak
from tests.bench.test_rescaling import JOIN_STORES, KEYS, MILLIONS, counted, joined, valued
from tests.savepoint.matrix import FORMAT_2, configured

pytestmark = [pytest.mark.bench, pytest.mark.spark, pytest.mark.timeout(3600)]

PARTITIONS = 4
FUNCTION = "def again(rows, schema, name):\n    return rows.select('key', 'value')\n"


@pytest.mark.parametrize(
    ("query", "operator", "stores", "mode"),
    [
        (counted, "stateStoreSave", ("default",), "update"),
        (joined, "symmetricHashJoin", JOIN_STORES, "append"),
        (valued, "transformWithStateInPySparkExec", ("default",), "update"),
    ],
)
def test_migration(spark: Any, tmp_path: Path, query: Callable[[Any], Any], operator: str, stores: tuple[str, ...], mode: str) -> None:
    session = configured(spark, FORMAT_2 | {"spark.sql.shuffle.partitions": str(PARTITIONS)})
    session.range(KEYS).write.parquet(str(tmp_path / "keys"))
    checkpoint, home = tmp_path / "checkpoint", tmp_path / "task"
    keys = session.readStream.schema("id LONG").parquet(str(tmp_path / "keys"))
    writer = query(keys).writeStream.outputMode(mode).format("noop").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    batch = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    held = tuple(Store("q", str(checkpoint), batch, "rocksdb", 2, 0, operator, store) for store in stores)
    contract = tmp_path / "contract" / "state" / "0"
    shutil.copytree(checkpoint / "state" / "0", contract, ignore=_state)
    targets = tuple(_target(checkpoint, contract, batch, Operator(0, operator, PARTITIONS, stores), store) for store in stores)
    home.mkdir()
    steps: dict[str, float] = {}

    def watch(far: Far) -> None:
        steps.setdefault(far.step, time.perf_counter())

    began, peak = time.perf_counter(), Peak()
    task = MigrationTask(TASK_FORMAT, "bench", "local[2]", FORMAT_2, held, targets, "again", FUNCTION)
    with peak:
        done = states.migrate(Pool(), home, task, OWN, watch)
    ended = time.perf_counter()
    assert all(store.given == store.after and store.given.rows == store.rows == KEYS for store in done.stores)
    spent = " · ".join(
        f"{step} {after - at:.1f} s" for (step, at), after in zip(steps.items(), [*list(steps.values())[1:], ended], strict=True)
    )
    print(f"{query.__name__}, {MILLIONS:g} million keys, by a function: {ended - began:.1f} s ({spent}), {peak}")


def _state(folder: str, names: Iterable[str]) -> set[str]:
    """What of an operator's folder is state, and not Spark's word on it."""
    if {"_metadata", "_stateSchema"} & {*Path(folder).parts}:
        return set()
    return {name for name in names if not (Path(folder, name).is_dir() and name != "SSTs")}


def _target(checkpoint: Path, contract: Path, batch: int, operator: Operator, store: str) -> Target:
    if "transformWithState" in operator.name:
        keeps = contracts.read(open_storage(str(checkpoint)), batch)[0]
        families = state_variables.by_function("q", 0, keeps, keeps).families
        return Target(variables.shape(contract.parents[1], operator, 0, store), str(contract), name="q.0", families=families)
    image = QueryImage("q", "", batch, 0, 0, (), "rocksdb", 2, (operator,), {}, "noop", "", 0, 0)  # type: ignore[arg-type]
    target = Target(migration.shape(str(checkpoint), image, operator, store), str(contract), name="q.0")
    side, _, kind = store.partition("-")
    if not kind:
        return target
    return replace(target, is_numbered=True) if kind == ROWS else replace(target, counts=f"{side}-{ROWS}")
