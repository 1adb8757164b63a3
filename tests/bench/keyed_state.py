"""State with as many keys as one asks for (`TIDEMARK_BENCH_MILLIONS`), made by jobs of three kinds."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
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
from pipelines.sandbox.migrations import Migrated, MigrationTask, Target
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.readings import Far
from pipelines.savepoint import migration
from pipelines.storage.addresses import open_storage
from pipelines.workspace import variables
from tests.savepoint.matrix import FORMAT_2

MILLIONS = float(os.environ.get("TIDEMARK_BENCH_MILLIONS", "1"))
KEYS = round(MILLIONS * 1_000_000)
PARTITIONS = 4
SIDES = ("left", "right")
JOIN_STORES = tuple(f"{side}-{kind}" for side in SIDES for kind in ("keyToNumValues", "keyWithIndexToValue"))
BY_PYTHON = 20_000
"""Keys of a `transformWithState` that Spark's Python makes, of which it makes a million in two minutes; a function of a migration makes
the rest."""
GROW = f"""
def grow(rows, schema):
    from pyspark.sql import functions as F
    key, value = (schema[part].dataType for part in ("key", "value"))
    keys = rows.sparkSession.range({KEYS}).select(F.struct(F.col("id").alias(key.names[0])).cast(key).alias("key"))
    return keys.select("key", F.struct(F.lit(1).alias(value.names[0])).cast(value).alias("value"))
"""


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


@dataclass(frozen=True)
class Kind:
    """A job's query, its operator as Spark names it, its stores and its output mode."""

    query: Callable[[Any], Any]
    operator: str
    stores: tuple[str, ...] = ("default",)
    mode: str = "update"

    @property
    def is_by_python(self) -> bool:
        return self.query is valued


COUNTED = Kind(counted, "stateStoreSave")
JOINED = Kind(joined, "symmetricHashJoin", JOIN_STORES, "append")
VALUED = Kind(valued, "transformWithStateInPySparkExec")


def named(*kinds: Kind) -> pytest.MarkDecorator:
    """A test's parameter `kind`."""
    return pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.query.__name__)


@dataclass(frozen=True)
class Made:
    """A checkpoint whose state holds a row for each of `KEYS`; an empty folder for a task."""

    checkpoint: Path
    batch: int
    home: Path


def made(session: Any, folder: Path, kind: Kind) -> Made:
    """A checkpoint of that kind in `folder`, by a session that has the confs of the job."""
    by_spark = min(KEYS, BY_PYTHON) if kind.is_by_python else KEYS
    session.range(by_spark).write.parquet(str(folder / "keys"))
    keys = session.readStream.schema("id LONG").parquet(str(folder / "keys"))
    checkpoint, home = folder / "checkpoint", folder / "task"
    writer = kind.query(keys).writeStream.outputMode(kind.mode).format("noop").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    batch = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    home.mkdir()
    of = Made(checkpoint, batch, home)
    if by_spark < KEYS:
        (folder / "grown").mkdir()
        by_function(replace(of, home=folder / "grown"), kind, folder / "grown contract", "grow", GROW, Steps())
    return of


def stores(of: Made, kind: Kind, provider: str = "rocksdb", format_version: int = 2) -> tuple[Store, ...]:
    return tuple(Store("q", str(of.checkpoint), of.batch, provider, format_version, 0, kind.operator, store) for store in kind.stores)


def by_function(of: Made, kind: Kind, contracts_folder: Path, function: str, code: str, watch: Callable[[Far], None]) -> Migrated:
    """Has a function rewrite the state where it lies."""
    contract = contracts_folder / "state" / "0"
    shutil.copytree(of.checkpoint / "state" / "0", contract, ignore=_state)
    operator = Operator(0, kind.operator, PARTITIONS, kind.stores)
    targets = tuple(_target(of, contract, operator, store) for store in kind.stores)
    task = MigrationTask(TASK_FORMAT, "bench", "local[2]", FORMAT_2, stores(of, kind), targets, function, code)
    return states.migrate(Pool(), of.home, task, OWN, watch)


def _state(folder: str, names: Iterable[str]) -> set[str]:
    """What of an operator's folder is state, and not Spark's word on it."""
    if {"_metadata", "_stateSchema"} & {*Path(folder).parts}:
        return set()
    return {name for name in names if not (Path(folder, name).is_dir() and name != "SSTs")}


def _target(of: Made, contract: Path, operator: Operator, store: str) -> Target:
    if "transformWithState" in operator.name:
        keeps = contracts.read(open_storage(str(of.checkpoint)), of.batch)[0]
        families = state_variables.by_function("q", 0, keeps, keeps).families
        return Target(variables.shape(contract.parents[1], operator, 0, store), str(contract), name="q.0", families=families)
    image = QueryImage("q", "", of.batch, 0, 0, (), "rocksdb", 2, (operator,), {}, "noop", "", 0, 0)  # type: ignore[arg-type]
    target = Target(migration.shape(str(of.checkpoint), image, operator, store), str(contract), name="q.0")
    side, _, kind = store.partition("-")
    if not kind:
        return target
    return replace(target, is_numbered=True) if kind == ROWS else replace(target, counts=f"{side}-{ROWS}")


class Steps:
    """When each step of a task began; as a text, what each took."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._start = time.perf_counter()

    def __call__(self, far: Far) -> None:
        self._began.setdefault(far.step, time.perf_counter())

    def __str__(self) -> str:
        ended = time.perf_counter()
        ends = [*list(self._began.values())[1:], ended]
        spent = " · ".join(f"{step} {end - at:.1f} s" for (step, at), end in zip(self._began.items(), ends, strict=True))
        return f"{ended - self._start:.1f} s ({spent})"
