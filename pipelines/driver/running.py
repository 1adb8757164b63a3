"""A streaming query that has started in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.domain.ids import QueryName


@dataclass(frozen=True)
class Running:
    """A query that was started in this process; it may have ended."""

    name: QueryName
    query: Any
    """PySpark's `StreamingQuery`."""
