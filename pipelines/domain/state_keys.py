"""Keys: one key of a running job's state, as of its newest committed batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.ids import JobName, QueryName


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
