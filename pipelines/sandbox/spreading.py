"""Spreads the rows of joins in format 4 over their partitions, after Spark rescaled the checkpoint that has them.

Measured with Spark 4.3.0: its `repartition` writes one row of each key, though a key of format 4 has several, in a form that its own reader
does not read (`Invalid byte array backed UnsafeRow`), and takes the event time, which is last in the key, for a part of what a row is
spread by. What it wrote of such a join is left; the rows of the batch before are written anew with its writer of one partition.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.domain.conversions import Shape
from pipelines.domain.joins import EVENT_TIME
from pipelines.domain.operators import JOIN
from pipelines.hadoop.paths import Place
from pipelines.sandbox import made_variables, places, placing, store_reader, variables
from pipelines.sandbox.conversion import STATE, Ids, identify, lay_logs, put_in_place
from pipelines.sandbox.counting import DEFAULT_STORE
from pipelines.sandbox.counts import Store
from pipelines.sandbox.partition_writer import PartitionWriter

ASIDE = "spread"
SCHEMAS = "_stateSchema"
LEFT = ("_metadata", SCHEMAS)
"""What an operator's folder has besides the state itself."""


def is_timed(spark: Any, store: Store) -> bool:
    """Whether it is the store of a join in format 4."""
    if store.operator_name != JOIN or store.store != DEFAULT_STORE:
        return False
    frame = store_reader.undecoded(placing.session_of(spark, store), store)
    return bool(frame.schema["partition_key"].dataType.names[-1:] == [EVENT_TIME])


def spread(spark: Any, store: Store, partitions: int, folder: Path) -> None:
    """Writes the rows of `store` as the state of the batch after it, which Spark wrote; raises what Spark raises, and CannotConvert."""
    session, checkpoint, batch = placing.session_of(spark, store), places.at(store.checkpoint), store.batch + 1
    place, aside = folder / f"rows-{store.operator}", checkpoint / ASIDE
    made_variables.write([variables.placed(store_reader.undecoded(session, store), store, partitions)], place)
    _lay(checkpoint, aside, store.operator, batch)
    writer, after, ids = PartitionWriter(session), replace(store, batch=batch), Ids()
    schemas = places.children(aside / STATE / str(store.operator) / SCHEMAS / store.store)
    (schema,) = (file for file in schemas if file.name[:1].isdigit())
    shape = Shape(partitions, "", "", 0, "", families=str(schema))
    for partition in range(partitions):
        rows = variables.partition(session, place / f"partition={partition}")
        written = writer.write(rows, str(aside), after, shape, partition)
        if written is not None:
            ids.setdefault(store.operator, {})[partition] = [written]
    if ids:
        identify(aside, batch, ids)
    _swap(checkpoint, aside, store.operator, batch)
    shutil.rmtree(place)


def _lay(checkpoint: Place, aside: Place, operator: int, batch: int) -> None:
    """The logs' last two entries, and what the operator says of itself."""
    (aside / STATE / str(operator)).mkdir(parents=True)
    lay_logs(checkpoint, aside, batch)
    for name in LEFT:
        places.copy_tree(checkpoint / STATE / str(operator) / name, aside / STATE / str(operator) / name)


def _swap(checkpoint: Place, aside: Place, operator: int, batch: int) -> None:
    places.remove(checkpoint / STATE / str(operator))
    (aside / STATE / str(operator)).rename(str(checkpoint / STATE / str(operator)))
    put_in_place(checkpoint, aside, batch)
