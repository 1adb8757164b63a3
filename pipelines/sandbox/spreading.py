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
from pipelines.sandbox import made_variables, placing, variables
from pipelines.sandbox.conversion import LOGS, STATE, Ids, entries, identify, put_in_place
from pipelines.sandbox.counting import DEFAULT_STORE, JOIN
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
    frame = variables.rows(placing.session_of(spark, store), store)
    return bool(frame.schema["partition_key"].dataType.names[-1:] == [EVENT_TIME])


def spread(spark: Any, store: Store, partitions: int, folder: Path) -> None:
    """Writes the rows of `store` as the state of the batch after it, which Spark wrote; raises what Spark raises, and CannotConvert."""
    session, checkpoint, batch = placing.session_of(spark, store), Path(store.checkpoint), store.batch + 1
    place, aside = folder / f"rows-{store.operator}", checkpoint / ASIDE
    made_variables.write([variables.placed(variables.rows(session, store), store, partitions)], place)
    _lay(checkpoint, aside, store.operator, batch)
    writer, after, ids = PartitionWriter(session), replace(store, batch=batch), Ids()
    (schema,) = (aside / STATE / str(store.operator) / SCHEMAS / store.store).glob("[0-9]*")
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


def _lay(checkpoint: Path, aside: Path, operator: int, batch: int) -> None:
    """The logs' last two entries, and what the operator says of itself."""
    for log in LOGS:
        (aside / log).mkdir(parents=True)
        for entry in entries(checkpoint, log, batch):
            shutil.copyfile(entry, aside / log / entry.name)
    for name in LEFT:
        inner = Path(STATE, str(operator), name)
        shutil.copytree(checkpoint / inner, aside / inner, copy_function=shutil.copyfile)


def _swap(checkpoint: Path, aside: Path, operator: int, batch: int) -> None:
    shutil.rmtree(checkpoint / STATE / str(operator))
    (aside / STATE / str(operator)).rename(checkpoint / STATE / str(operator))
    put_in_place(checkpoint, aside, batch)
