"""Stateful operators of a batch, of Spark's progress event (`StateOperatorProgress`), and what a query's newest batch was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pipelines.domain.bounds import Long
from pipelines.domain.sources import SourceSeen

_BYTES = re.compile(r"Bytes|Size$|SizeBytes|MemoryUsage")
"""Custom metrics that are kept: those of a state store that are bytes."""

JOIN, JOIN_STORES = "symmetricHashJoin", 4

PARTITIONS_CONF = "spark.sql.shuffle.partitions"
"""How many partitions an operator that begins gets; one that has begun keeps its own."""

_COUNTED = ("numRowsTotal", "numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark", "memoryUsedBytes", "numStateStoreInstances")
"""Spark's figures of an operator that are divided by how often a batch computed it."""
_TIMED = ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs", "numShufflePartitions")
"""Those that stay as they are."""


@dataclass(frozen=True)
class OperatorProgress:
    """One stateful operator in one batch; times in ms, summed over its tasks."""

    name: str
    rows: Long
    updated: Long
    removed: Long
    late_rows: Long
    """Dropped because the watermark had passed them."""
    memory_bytes: Long
    update_ms: Long
    removal_ms: Long
    commit_ms: Long
    partitions: Long
    stores: Long
    custom: Mapping[str, Long] = field(default_factory=dict)
    """Bytes that the state store counts besides, by Spark's name (`rocksdbSstFileSize`, `stateOnCurrentVersionSizeBytes`, …)."""


@dataclass(frozen=True)
class OperatorSeries:
    """What one stateful operator keeps over time: `t` is epoch ms of a batch's end, or its event time, as in the series it is part of."""

    query: str
    operator: int
    """Its place in Spark's progress."""
    name: str
    t: tuple[float, ...]
    rows: tuple[int, ...]
    memory_bytes: tuple[int, ...]


@dataclass(frozen=True)
class QueryOperators:
    """The newest batch of one query: what it read, what state it keeps, where it wrote."""

    query: str
    batch: int
    at_ms: int
    sources: tuple[SourceSeen, ...]
    operators: tuple[OperatorProgress, ...]
    sink: str
    """Format of its sink, empty where it is not known."""
    sink_path: str
    output_rows: int | None
    """Rows written, where the sink counts them."""
    sink_table: str = ""
    """Name of the table, or of the Kafka topic, that it writes to."""

    @property
    def output(self) -> str:
        """Where it writes, as far as that is known."""
        return self.sink_path or self.sink_table


def read_operators(raw: Mapping[str, Any]) -> tuple[OperatorProgress, ...]:
    """The stateful operators of a progress event, in Spark's order."""
    return tuple(_operator(operator) for operator in raw.get("stateOperators") or ())


def _operator(raw: Mapping[str, Any]) -> OperatorProgress:
    """Spark adds up every figure over all executions of a batch; here it is that of one, as the figures of other batches are."""
    executions = _executions(raw)
    counts = [int(raw.get(name, 0)) for name in _COUNTED]
    update_ms, removal_ms, commit_ms, partitions = (int(raw.get(name, 0)) for name in _TIMED)
    custom = {name: int(value) for name, value in _custom(raw).items()}
    if executions != 1:
        counts = [round(count / executions) for count in counts]
        custom = {name: round(value / executions) for name, value in custom.items()}
    rows, updated, removed, late_rows, memory_bytes, stores = counts
    name = str(raw.get("operatorName", ""))
    times = update_ms, removal_ms, commit_ms
    return OperatorProgress(name, rows, updated, removed, late_rows, memory_bytes, *times, partitions, stores, custom)


def _custom(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in (raw.get("customMetrics") or {}).items() if value and _is_bytes(name)}


@lru_cache(maxsize=1_024)
def _is_bytes(name: str) -> bool:
    """Cached: a driver says the same few names with each batch."""
    return _BYTES.search(name) is not None


def _executions(raw: Mapping[str, Any]) -> float:
    """How often a batch computed the operator: by the stores that it opened, as many as there are in each execution.

    A foreachBatch with two actions has two executions, and so has a sort, which first looks at its input; one that looks at some partitions
    only makes it a fraction. As each partition is computed once or more, fewer stores than shuffle partitions are those of a global
    aggregation, which has one. A stream-stream join has four stores a partition, or one (its state formats 3 and 4).
    """
    opened, partitions = int(raw.get("numStateStoreInstances", 0)), int(raw.get("numShufflePartitions", 0))
    if opened < partitions:
        return float(max(opened, 1))
    stores = partitions * (JOIN_STORES if raw.get("operatorName") == JOIN and opened % (partitions * JOIN_STORES or 1) == 0 else 1)
    return max(opened / stores, 1.0) if stores else 1.0
