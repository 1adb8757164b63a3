"""The rows of state variables under changed code: of each column family undecoded, as Spark's own rewriter reads and writes them.

The values of a list are rows of one key, and come and go in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pipelines.domain.joins import EVENT_TIME
from pipelines.domain.operators import JOIN
from pipelines.domain.state_variables import Family
from pipelines.domain.struct_columns import Struct, columns
from pipelines.domain.struct_columns import placed as placed_columns
from pipelines.sandbox import unsafe_columns, unsafe_rows
from pipelines.sandbox.counting import FAMILY
from pipelines.sandbox.counts import Store

PARTITION, PLACE = "partition", "place"
SCHEMA = f"{PARTITION} INT, {PLACE} BIGINT, {unsafe_rows.KEY} BINARY, {unsafe_rows.VALUE} BINARY, {FAMILY} STRING"
CONTENTS = (FAMILY, unsafe_rows.KEY, unsafe_rows.VALUE)
"""What is compared of what is written and what Spark reads then."""
Change = Callable[[bytes], bytes]


def placed(rows: Any, store: Store, partitions: int) -> Any:
    """The rows with the partition that their grouping key says, as Spark's HashPartitioning has it, and their place in the order. What
    Spark's reader says of a join's keys has their event time in format 4, by which nothing is spread."""
    from pyspark.sql import functions as F

    names = rows.schema["partition_key"].dataType.names
    is_timed = store.operator_name == JOIN and names[-1:] == [EVENT_TIME]
    columns = [F.col("partition_key").getField(name) for name in names[: len(names) - is_timed]]
    partition = F.pmod(F.hash(*columns), F.lit(partitions)).cast("int")
    return rows.select(partition.alias(PARTITION), F.monotonically_increasing_id().alias(PLACE), unsafe_rows.KEY, unsafe_rows.VALUE, FAMILY)


def counted(placed: Any) -> tuple[int, bool]:
    """How many rows there are, and whether each partition of the store, which Spark reads as one of the frame, has those of one alone."""
    from pyspark.sql import functions as F

    parts = placed.groupBy(F.spark_partition_id()).agg(F.count("*"), F.min(PARTITION), F.max(PARTITION)).collect()
    return sum(int(part[1]) for part in parts), all(part[2] == part[3] for part in parts)


def changed(placed: Any, families: Sequence[Family]) -> Any:
    """The rows of the new state; those of families that none goes on with are left out."""
    return placed.mapInArrow(_changed({family.before: (family.after, *_changes(family)) for family in families}), SCHEMA)


def partition(session: Any, part: Path) -> Any:
    """The rows of one partition as Spark's writer wants them, as one partition of a frame, in their order."""
    from pyspark.sql import functions as F

    schema = SCHEMA.removeprefix(f"{PARTITION} INT, ")
    frame = session.read.schema(schema).parquet(f"file:{part}") if part.is_dir() else session.createDataFrame([], schema)
    ordered = frame.coalesce(1).sortWithinPartitions(PLACE)
    return ordered.select(F.lit(0).alias("partition_key"), unsafe_rows.KEY, unsafe_rows.VALUE, FAMILY)


def hashed(rows: Any, name: str) -> Any:
    """A hash of each row, as `name`."""
    from pyspark.sql import functions as F

    return rows.select(F.xxhash64(*CONTENTS).alias(name))


def _changes(family: Family) -> tuple[Change | None, Change | None]:
    if family.places is None:
        return _change(*family.keys), _change(*family.values)
    old, new = family.values
    return _change(*family.keys), unsafe_columns.changed(placed_columns(old, new, family.places), len(old["fields"]))


def _change(old: Struct, new: Struct) -> Change | None:
    made = columns(old, new)
    return unsafe_columns.changed(made, len(old["fields"])) if made is not None else None


def _changed(families: dict[str, tuple[str, Change | None, Change | None]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def change(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            kept = [at for at, name in enumerate(batch.column(FAMILY).to_pylist()) if name in families]
            part = batch.take(pa.array(kept, pa.int64()))
            names = part.column(FAMILY).to_pylist()
            columns = {name: part.column(name) for name in (PARTITION, PLACE)}
            for name, which in ((unsafe_rows.KEY, 1), (unsafe_rows.VALUE, 2)):
                made = (_made(families[family][which], data) for family, data in zip(names, part.column(name).to_pylist(), strict=True))
                columns[name] = pa.array(list(made), pa.binary())
            columns[FAMILY] = pa.array([families[name][0] for name in names], pa.string())
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return change


def _made(change: Any, data: bytes) -> bytes:
    return data if change is None else bytes(change(data))
