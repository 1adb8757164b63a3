"""The sizes of a job's state by partition, over time: what shows skew and growth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipelines.domain.ids import QueryName, SavepointId
from pipelines.domain.savepoints import StoredFile


@dataclass(frozen=True)
class SavedSizes:
    """An operator's state in one savepoint, a value for each partition."""

    savepoint: SavepointId
    batch: int
    at_ms: int
    bytes: tuple[int, ...]
    """What the state files that a restart reads take."""
    rows: tuple[int, ...] = ()
    """As the savepoint's state was read; empty where nobody has read it."""


@dataclass(frozen=True)
class WrittenSizes:
    """What one batch wrote into an operator's state, a value in bytes for each partition."""

    batch: int
    at_ms: int
    bytes: tuple[int, ...]


@dataclass(frozen=True)
class OperatorSizes:
    """One stateful operator; both lists stand oldest first."""

    query: QueryName
    operator: int
    name: str
    """Spark's name of it."""
    partitions: int
    saved: tuple[SavedSizes, ...]
    written: tuple[WrittenSizes, ...]
    """Of the batches that Spark still keeps in the live checkpoint."""


def partition_bytes(files: Iterable[StoredFile], checkpoint: str) -> Mapping[int, Mapping[int, int]]:
    """Operator -> partition -> bytes, of the files below `checkpoint`/state/<operator>/<partition>/."""
    sums: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for file in files:
        operator, partition, inside = (*file.path.removeprefix(f"{checkpoint}/state/").split("/", 2), "", "")[:3]
        if file.path.startswith(f"{checkpoint}/state/") and operator.isdecimal() and partition.isdecimal() and inside:
            sums[int(operator)][int(partition)] += file.bytes
    return sums


def in_order(by_partition: Mapping[int, int], partitions: int) -> tuple[int, ...]:
    """A value for each partition, 0 where there is none."""
    return tuple(by_partition.get(partition, 0) for partition in range(partitions))
