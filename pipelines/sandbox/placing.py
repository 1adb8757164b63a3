"""Gives operators other places in checkpoints that nothing else uses: Spark finds state by the number that an operator has in the code.

The steps, for each checkpoint: (1) the folders of what is kept move below their new numbers, with Spark's metadata as the new code has it
(of state variables as it was, with the new number: which column family of the store holds which of them stands there alone), and those of
what is dropped go; (2) what is new gets an empty state of the batch: Spark refuses an operator that has none; (3) the commit
log names the state by the new numbers. No file is written into: those may be links.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.domain.conversions import HDFS, Shape
from pipelines.hadoop.paths import Place
from pipelines.sandbox import places, snapshots, unsafe_rows
from pipelines.sandbox.conversion import STATE, Ids, entries
from pipelines.sandbox.counting import DEFAULT_STORE, FAMILY
from pipelines.sandbox.counts import Store
from pipelines.sandbox.migrations import Placing
from pipelines.sandbox.partition_writer import PartitionWriter
from pipelines.sandbox.store_reader import FORMAT_CONF

ASIDE = "placed"
COMMITS, METADATA = "commits", "_metadata"
VERSIONED = f"{METADATA}/v2"
"""Where metadata lies of operators with state variables: a file for each batch that changed it."""
SCHEMA_PARTS = 3
"""`_stateSchema/STORE/BATCH_ID`, below the operator's folder."""
IDS = "stateUniqueIds"


def place(spark: Any, placing: Placing, scratch: Path) -> None:
    """Carries it out; `scratch` is a file to write to. Raises what Spark raises, and CannotConvert."""
    checkpoint = places.at(placing.checkpoint)
    _move(checkpoint, placing)  # 1
    ids: Ids = {}
    for store, shape in zip(placing.added, placing.shapes, strict=True):
        _empty(spark, checkpoint, store, shape, ids, scratch)  # 2
    for entry in entries(checkpoint, COMMITS, placing.batch):
        _name(entry, dict(placing.moved), ids)  # 3


def _move(checkpoint: Place, placing: Placing) -> None:
    state, aside, contract = checkpoint / STATE, checkpoint / ASIDE, Path(placing.contract)
    aside.mkdir()
    for before, after in placing.moved:
        (state / str(before)).rename(str(aside / str(after)))
        if before != after and not (aside / str(after) / VERSIONED).is_dir():
            places.remove(aside / str(after) / METADATA)
            places.copy_tree(contract / str(after) / METADATA, aside / str(after) / METADATA)
        describe(state, after, aside / str(after))
    for operator in dict.fromkeys(store.operator for store in placing.added):
        places.copy_tree(contract / str(operator), aside / str(operator))
        describe(state, operator, aside / str(operator))
    places.remove(state)
    if places.children(aside):
        aside.rename(str(state))
    else:
        places.remove(aside)


def describe(state: Place, operator: int, folder: Place | None = None) -> None:
    """Has metadata that names its schema files by their whole paths name them, and its operator, where they will be: below `state`. It is
    in `folder` now, in its place if that is not said."""
    for entry in places.numbered((folder or state / str(operator)) / VERSIONED):
        version, text = entry.read_text().split("\n", 1)
        raw = json.loads(text)
        raw["operatorInfo"]["operatorId"] = operator
        for store in raw["stateStoreInfo"]:
            inner = ("/".join(path.split("/")[-SCHEMA_PARTS:]) for path in store["stateSchemaFilePaths"])
            store["stateSchemaFilePaths"] = [str(state / str(operator) / path) for path in inner]
        places.put(entry, f"{version}\n{json.dumps(raw, separators=(',', ':'), ensure_ascii=False)}")


def _name(entry: Place, moved: Mapping[int, int], ids: Ids) -> None:
    """Format 2 names state in the commit log, by operator; format 1 does not."""
    version, *lines = entry.read_text().split("\n")
    raw = json.loads(lines[0] if lines and lines[0] else "{}")
    kept = {str(moved[int(operator)]): named for operator, named in (raw.get(IDS) or {}).items() if int(operator) in moved}
    begun = {str(operator): [parts[partition] for partition in sorted(parts)] for operator, parts in ids.items()}
    if raw.get(IDS) or begun:
        places.put(entry, f"{version}\n{json.dumps({**raw, IDS: {**kept, **begun}})}")


def _empty(spark: Any, checkpoint: Place, store: Store, shape: Shape, ids: Ids, scratch: Path) -> None:
    """Writes one store that holds nothing."""
    session = session_of(spark, store)
    for partition in range(shape.partitions):
        if store.provider == HDFS:
            conf = session.sparkContext._jsc.sc().conf()
            snapshots.write(session._jvm, conf, home(checkpoint, store, partition), store.batch + 1, shape.codec, (), scratch)
            continue
        written = PartitionWriter(session).write(_nothing(session), str(checkpoint), store, shape, partition)
        if written is not None:
            ids.setdefault(store.operator, {}).setdefault(partition, []).append(written)


def home(checkpoint: Place, store: Store, partition: int) -> Place:
    """The folder of a partition of a store."""
    folder = checkpoint / STATE / str(store.operator) / str(partition)
    return folder if store.store == DEFAULT_STORE else folder / store.store


def session_of(spark: Any, store: Store) -> Any:
    """A session with the confs of `spark`. Spark takes the store from the offset log, but the checkpoint format from the session."""
    from pyspark.sql import SparkSession

    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    session.conf.set(FORMAT_CONF, str(store.state_format))
    return session


def _nothing(session: Any) -> Any:
    """No rows, as one partition of a frame, as Spark's writer wants them."""
    schema = f"partition_key INT, {unsafe_rows.KEY} BINARY, {unsafe_rows.VALUE} BINARY, {FAMILY} STRING"
    return session.createDataFrame([], schema).coalesce(1)
