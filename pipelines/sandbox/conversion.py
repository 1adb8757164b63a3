"""Writes the state of checkpoints that nothing else uses anew in RocksDB, and reads it back.

The steps, for each checkpoint: (1) beside its state a folder gets its logs' last two entries, with the other store, and Spark's metadata of
its operators; (2) each partition of each store is read from its files and written there; (3) the folder is read back by Spark's own reader:
each store must hold what the files held; (4) its parts take the places of the checkpoint's. No file is written into: those may be links.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.domain.conversions import Shape
from pipelines.domain.pinned_confs import PROVIDER_CONF
from pipelines.hadoop.paths import Place
from pipelines.sandbox import delta_files, places
from pipelines.sandbox.conversions import ConversionTask
from pipelines.sandbox.counting import FAMILY
from pipelines.sandbox.counts import Store
from pipelines.sandbox.partition_writer import ROCKSDB_CLASS, PartitionWriter
from pipelines.sandbox.reading import followed
from pipelines.sandbox.rewrites import Contents, Rewritten, RewrittenStore
from pipelines.sandbox.undecoded import contents, summed

ASIDE = "converted"
LOGS = ("offsets", "commits")
STATE = "state"
FILES = (".delta", ".snapshot", ".delta.crc", ".snapshot.crc")
"""How the names of the files end that are state of the HDFS-backed store."""
BYTES = ("key_bytes", "value_bytes")
Ids = dict[int, dict[int, list[str]]]
"""Operator -> partition -> the id of each of its stores."""


def convert(spark: Any, task: ConversionTask, folder: Path) -> Rewritten:
    """Converts the checkpoints of `task`; raises what Spark raises, Missing, and CannotConvert."""
    writer = PartitionWriter(spark)
    done: list[RewrittenStore] = []
    for checkpoint in dict.fromkeys(store.checkpoint for store in task.stores):
        stores = [(store, shape) for store, shape in zip(task.stores, task.shapes, strict=True) if store.checkpoint == checkpoint]
        done += _checkpoint(spark, writer, places.at(checkpoint), stores, folder)
    return Rewritten(spark.version, tuple(done))


def _checkpoint(
    spark: Any, writer: PartitionWriter, checkpoint: Place, stores: Sequence[tuple[Store, Shape]], folder: Path
) -> list[RewrittenStore]:
    aside, batch = checkpoint / ASIDE, stores[0][0].batch
    _lay(checkpoint, aside, batch)  # 1
    ids: Ids = {}
    with followed(spark, folder, "writing state"):
        before = [_written(spark, writer, checkpoint, store, shape, ids, folder) for store, shape in stores]  # 2
    if writer.state_format > 1:
        identify(aside, batch, ids)
    written = [replace(store, checkpoint=str(aside), provider="rocksdb", state_format=writer.state_format) for store, _ in stores]
    with followed(spark, folder, "reading it back"):
        after = [contents(spark, store) for store in written]  # 3
    if before == after:
        _swap(checkpoint, aside, batch)  # 4
    return list(map(RewrittenStore, written, before, after))


def _lay(checkpoint: Place, aside: Place, batch: int) -> None:
    places.copy_tree(checkpoint / STATE, aside / STATE, lambda name: name.endswith(FILES))
    lay_logs(checkpoint, aside, batch)
    for entry in entries(aside, "offsets", batch):
        version, metadata, *offsets = entry.read_text().split("\n")
        raw = json.loads(metadata)
        raw["conf"] = {**raw.get("conf", {}), PROVIDER_CONF: ROCKSDB_CLASS}
        entry.write_text("\n".join([version, json.dumps(raw, separators=(",", ":")), *offsets]))


def lay_logs(checkpoint: Place, aside: Place, batch: int) -> None:
    """Copies what Spark's reader looks at beside the state: the query's id, and the last two entries of its logs."""
    places.copy(checkpoint / "metadata", aside / "metadata")
    for log in LOGS:
        (aside / log).mkdir()
        for entry in entries(checkpoint, log, batch):
            places.copy(entry, aside / log / entry.name)


def entries(checkpoint: Place, log: str, batch: int) -> Iterator[Place]:
    """The last two entries of a log."""
    return (path for number in (batch - 1, batch) if (path := checkpoint / log / str(number)).is_file())


def _written(spark: Any, writer: PartitionWriter, checkpoint: Place, store: Store, shape: Shape, ids: Ids, folder: Path) -> Contents:
    """Writes one store; what it held. `folder` of this machine is for files on the way."""
    held = []
    for partition in range(shape.partitions):
        entries = _partition(spark, checkpoint, store, shape, partition, folder / "entries")
        file = folder / f"{store.operator}-{store.store}-{partition}.parquet"
        frame = _frame(spark, entries, file)
        written = writer.write(frame, str(checkpoint / ASIDE), store, shape, partition)
        held.append(summed(frame))
        file.unlink()
        if written is not None:
            ids.setdefault(store.operator, {}).setdefault(partition, []).append(written)
    return Contents(sum(part.rows for part in held), str(sum(int(part.digest) for part in held)))


def _partition(spark: Any, checkpoint: Place, store: Store, shape: Shape, partition: int, scratch: Path) -> dict[bytes, bytes]:
    place = checkpoint / STATE / str(store.operator) / str(partition)
    place = place if store.store == "default" else place / store.store
    conf = spark.sparkContext._jsc.sc().conf()
    return delta_files.entries(spark._jvm, conf, place, store.batch + 1, shape.codec, scratch)


def _frame(spark: Any, held: dict[bytes, bytes], file: Path) -> Any:
    """The entries of one partition as Spark's writer wants them, as one partition of a frame: by way of `file`, which executors read,
    because rows that the driver hands out stay among its objects."""
    import pyarrow as pa
    from pyarrow import parquet
    from pyspark.sql import functions as F

    parts = zip(BYTES, (held.keys(), held.values()), strict=True)
    parquet.write_table(pa.table({name: pa.array(part, pa.binary()) for name, part in parts}), file)
    columns = (F.lit(0).alias("partition_key"), *BYTES, F.lit("default").alias(FAMILY))
    return spark.read.schema(", ".join(f"{name} BINARY" for name in BYTES)).parquet(f"file:{file}").coalesce(1).select(*columns)


def identify(aside: Place, batch: int, ids: Ids) -> None:
    """Names the state in the commit log, as format 2 does: by operator the ids of its stores, partition by partition. What other operators
    have stays."""
    named = {str(operator): [parts[partition] for partition in sorted(parts)] for operator, parts in ids.items()}
    for entry in entries(aside, "commits", batch):
        raw = json.loads(entry.read_text().split("\n")[1] or "{}")
        entry.write_text("v2\n" + json.dumps({**raw, "stateUniqueIds": {**(raw.get("stateUniqueIds") or {}), **named}}))


def _swap(checkpoint: Place, aside: Place, batch: int) -> None:
    places.remove(checkpoint / STATE)
    (aside / STATE).rename(str(checkpoint / STATE))
    put_in_place(checkpoint, aside, batch)


def put_in_place(checkpoint: Place, aside: Place, batch: int) -> None:
    """The logs' entries take the places of the checkpoint's; nothing is left aside."""
    for log in LOGS:
        for entry in entries(aside, log, batch):
            places.put(checkpoint / log / entry.name, entry.read_text())
    places.remove(aside)
