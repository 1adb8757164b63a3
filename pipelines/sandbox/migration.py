"""Rewrites the state of operators for changed code in checkpoints that nothing else uses, and reads it back.

Operators get their places first (`placing`). The steps then, for each checkpoint: (1) beside its state a folder gets its logs' last two
entries, and what the new code's operators say of themselves; (2) of each store the old rows become the new rows, which executors encode;
(3) each partition is written; (4) Spark reads it back: it must be the new rows; (5) the operators take the places of the old ones. No file
is written into: those may be links.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipelines.hadoop.paths import Place
from pipelines.sandbox import given_rows, made_joins, made_variables, places, placing, row_columns, snapshots, unsafe_rows, variables
from pipelines.sandbox.conversion import STATE, Ids, identify, lay_logs, put_in_place
from pipelines.sandbox.counting import FAMILY
from pipelines.sandbox.counts import Store
from pipelines.sandbox.migrations import Migrated, MigratedStore, MigrationTask, Target
from pipelines.sandbox.partition_writer import PartitionWriter
from pipelines.sandbox.reading import PARTITION, followed, named_once
from pipelines.sandbox.rewrites import Contents
from pipelines.sandbox.store_reader import reader, undecoded

ASIDE = "migrated"
HDFS = "hdfs"


class CannotMigrate(Exception):
    """State that is not spread over its partitions as it is known to be."""


@dataclass(frozen=True)
class _Filling:
    """The new state of one checkpoint, as it is filled store by store."""

    session: Any
    task: MigrationTask
    writer: PartitionWriter
    aside: Place
    """Where the checkpoint is that takes it."""
    folder: Path
    """For files of this machine."""
    ids: dict[Store, dict[int, str]] = field(default_factory=dict)
    """Of partitions that have one (format 2)."""
    numbered: dict[tuple[int, str], Any] = field(default_factory=dict)
    """Rows that another store counts, by operator and store."""


def migrate(spark: Any, task: MigrationTask, folder: Path) -> Migrated:
    """Migrates the checkpoints of `task`; raises what Spark raises, CannotMigrate, CannotConvert, CannotEncode, Missing, WrongRows."""
    done: list[MigratedStore] = []
    for moves in task.places:
        with followed(spark, folder, "moving state"):
            placing.place(spark, moves, folder / "entries")
    for checkpoint in dict.fromkeys(store.checkpoint for store in task.stores):
        stores = [(store, target) for store, target in zip(task.stores, task.targets, strict=True) if store.checkpoint == checkpoint]
        done += _checkpoint(spark, task, places.at(checkpoint), stores, folder)
    for source, target in task.copies:
        places.copy_state(spark._jvm, source, target)
    return Migrated(spark.version, tuple(done))


def _checkpoint(
    spark: Any, task: MigrationTask, checkpoint: Place, stores: Sequence[tuple[Store, Target]], folder: Path
) -> list[MigratedStore]:
    aside, batch = checkpoint / ASIDE, stores[0][0].batch
    session = placing.session_of(spark, stores[0][0])
    filling = _Filling(session, task, PartitionWriter(session), aside, folder, {store: {} for store, _ in stores})
    _lay(checkpoint, aside, stores)  # 1
    made = {store: _store(filling, store, target) for store, target in sorted(stores, key=lambda pair: bool(pair[1].counts))}
    done = [made[store] for store, _ in stores]
    for frame in filling.numbered.values():
        frame.unpersist()
    ids = _ids(filling.ids)
    if ids:
        identify(aside, batch, ids)
    with followed(spark, folder, "reading it back"):
        read_back = (_contents(session, replace(store, checkpoint=str(aside)), target) for store, target in stores)
        done = [replace(migrated, after=after) for migrated, after in zip(done, read_back, strict=True)]  # 4
    if all(migrated.given == migrated.after for migrated in done):
        for operator in _operators(stores):
            places.remove(checkpoint / STATE / operator)
            (aside / STATE / operator).rename(str(checkpoint / STATE / operator))  # 5
            placing.describe(places.resolved(checkpoint) / STATE, int(operator))
        put_in_place(checkpoint, aside, batch)
    return done


def _ids(written: Mapping[Store, Mapping[int, str]]) -> Ids:
    """The ids of each operator's partitions, in the order of its stores."""
    ids: Ids = {}
    for store, partitions in written.items():
        for partition, identity in partitions.items():
            ids.setdefault(store.operator, {}).setdefault(partition, []).append(identity)
    return ids


def _store(filling: _Filling, store: Store, target: Target) -> MigratedStore:
    place = filling.folder / f"rows-{store.operator}-{store.store}"
    held, contents = (_variables if target.families else _columns)(filling, store, target, place)
    with followed(filling.session, filling.folder, "writing state"):  # 3
        for partition in range(target.shape.partitions):
            written = _written(filling, store, target, partition, place)
            if written is not None:
                filling.ids[store][partition] = written
    shutil.rmtree(place)
    return MigratedStore(store, held, contents, Contents(0, ""))


def _columns(filling: _Filling, store: Store, target: Target, place: Path) -> tuple[int, Contents]:
    """How many rows there were, and what the new ones are, which are at `place` then."""
    session, numbered = filling.session, filling.numbered
    with ExitStack() as stack:
        with followed(session, filling.folder, "reading state"):
            rows = stack.enter_context(_kept(_rows(session, store), looks_again=not target.counts))
            held = _placed(rows, target, store)
        stack.enter_context(followed(session, filling.folder, "migrating rows"))  # 2
        if target.counts:
            given = given_rows.counted(numbered[store.operator, target.counts], target)
        else:
            given = given_rows.of(rows.select("key", "value"), filling.task, target)
        if target.is_numbered:
            numbered[store.operator, store.store] = given
        given_rows.encode(given, target, place)
        return held, given_rows.check(session, given, place)


def _variables(filling: _Filling, store: Store, target: Target, place: Path) -> tuple[int, Contents]:
    """The same of a store with state variables."""
    session, task, is_made = filling.session, filling.task, made_joins.are_made(store, target)
    with ExitStack() as stack:
        with followed(session, filling.folder, "reading state"):
            placed = variables.placed(undecoded(session, store), store, target.shape.partitions)
            rows = stack.enter_context(_kept(placed, looks_again=not is_made))
            held, is_spread = variables.counted(rows)
            if not is_spread:
                raise CannotMigrate(f"Rows of operator {store.operator} are not in the partitions that their keys say")
        stack.enter_context(followed(session, filling.folder, "migrating rows"))  # 2
        if is_made:
            made_variables.write(made_joins.of(session, task, store, target), place)
        else:
            families, frames = made_variables.of(session, task, store, target)
            made_variables.write([variables.changed(rows, families), *frames], place)
            made_variables.check(session, target, place)
        frame = session.read.schema(variables.SCHEMA).parquet(f"file:{place}")
        return held, given_rows.summed(variables.hashed(frame, given_rows.HASH))


@contextmanager
def _kept(rows: Any, *, looks_again: bool) -> Iterator[Any]:
    """The rows of a store, on the disk while the block lasts if it looks at them again, for which Spark would load the store anew and
    replay its changelog."""
    from pyspark import StorageLevel

    if looks_again:
        rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield rows
    finally:
        if looks_again:
            rows.unpersist()


def _lay(checkpoint: Place, aside: Place, stores: Sequence[tuple[Store, Target]]) -> None:
    (aside / STATE).mkdir(parents=True)
    lay_logs(checkpoint, aside, stores[0][0].batch)
    for operator, contract in _operators(stores).items():
        places.copy_tree(Path(contract), aside / STATE / operator)
        placing.describe(aside / STATE, int(operator))


def _operators(stores: Sequence[tuple[Store, Target]]) -> dict[str, str]:
    """The operators' folders, each with the one that the new code has of it."""
    return {str(store.operator): target.contract for store, target in stores}


def _rows(session: Any, store: Store) -> Any:
    """The rows as Spark's reader has them: `key`, `value` and `partition_id`, each name within a struct once."""
    from pyspark.sql import functions as F

    frame = reader(session, store).option("storeName", store.store).load(store.checkpoint)
    structs = [F.col(name).cast(named_once(frame.schema[name].dataType)).alias(name) for name in ("key", "value")]
    return frame.select(*structs, PARTITION)


def _contents(session: Any, store: Store, target: Target) -> Contents:
    if target.families:
        return given_rows.summed(variables.hashed(undecoded(session, store), given_rows.HASH))
    rows = _rows(session, store)
    return given_rows.summed(rows.select(row_columns.hashed(rows).alias(given_rows.HASH)))


def _placed(rows: Any, target: Target, store: Store) -> int:
    """How many rows there are; raises CannotMigrate where one is not in the partition that its key says."""
    from pyspark.sql import functions as F

    elsewhere = F.sum((given_rows.partition(rows, target) != F.col(PARTITION)).cast("long"))
    row = rows.agg(F.count("*"), F.coalesce(elsewhere, F.lit(0))).first()
    if row[1]:
        raise CannotMigrate(f"{row[1]:,} of {row[0]:,} rows of operator {store.operator} are not in the partitions that their keys say")
    return int(row[0])


def _written(filling: _Filling, store: Store, target: Target, partition: int, place: Path) -> str | None:
    """Writes one partition; its id in format 2."""
    session, aside = filling.session, filling.aside
    part = place / f"partition={partition}"
    if store.provider == HDFS:
        home = placing.home(aside, store, partition)
        conf = session.sparkContext._jsc.sc().conf()
        snapshots.write(session._jvm, conf, home, store.batch + 1, target.shape.codec, _pairs(part), filling.folder / "entries")
        return None
    rows = variables.partition(session, part) if target.families else _frame(session, part)
    return filling.writer.write(rows, str(aside), store, target.shape, partition)


def _pairs(part: Path) -> Iterator[tuple[bytes, bytes]]:
    from pyarrow import parquet

    for file in sorted(part.glob("*.parquet")):
        for batch in parquet.ParquetFile(file).iter_batches(columns=[unsafe_rows.KEY, unsafe_rows.VALUE]):
            yield from zip(*(batch.column(name).to_pylist() for name in (unsafe_rows.KEY, unsafe_rows.VALUE)), strict=True)


def _frame(session: Any, part: Path) -> Any:
    """The rows of one partition as Spark's writer wants them, as one partition of a frame."""
    from pyspark.sql import functions as F

    schema = f"{unsafe_rows.KEY} BINARY, {unsafe_rows.VALUE} BINARY"
    frame = session.read.schema(schema).parquet(f"file:{part}") if part.is_dir() else session.createDataFrame([], schema)
    return frame.coalesce(1).select(F.lit(0).alias("partition_key"), unsafe_rows.KEY, unsafe_rows.VALUE, F.lit("default").alias(FAMILY))
