"""Keys: one key of a running job's state, as of its newest committed batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.bounds import Count
from pipelines.domain.ids import JobName, QueryName

MOST_BATCHES = 100
"""Of so many batches the changes of a key can be asked for: Spark keeps no more, unless it is told to."""


@dataclass(frozen=True)
class KeyChange:
    """What a batch made of a key."""

    batch: Count
    change: str
    """`update`, or `delete`; of a list also `append`. As Spark's change feed has it."""
    row: Mapping[str, Any]
    """`key` and `value` as Spark writes them as JSON."""

    @staticmethod
    def of(row: Mapping[str, Any]) -> KeyChange:
        """From a row of Spark's change feed."""
        left = {name: value for name, value in row.items() if name not in ("batch_id", "change_type", "partition_id")}
        return KeyChange(int(row["batch_id"]), str(row["change_type"]), left)


@dataclass(frozen=True)
class KeyHistory:
    """The batches that changed a key, in their order: all of those after `since`."""

    since: int
    changes: tuple[KeyChange, ...]
    note: str = ""
    """Why it begins later than was asked for, or has nothing."""


@dataclass(frozen=True)
class KeyRows:
    """The rows that a job keeps of one key: none, one, or (a side of a join, a list, a map) several."""

    job: JobName
    query: QueryName
    operator: int
    store: str
    variable: str
    batch: int
    """The newest committed batch, of which the answer is."""
    batch_ms: int
    """When that batch was planned."""
    partition: int | None
    """The one partition that was read; None where the operator does not place its rows by the whole key, and all were read."""
    rows: tuple[Mapping[str, Any], ...]
    """`key` and `value` as Spark writes them as JSON (times in UTC), `partition_id`."""
    took_ms: float
    history: KeyHistory | None = None
    """Where it was asked for."""
