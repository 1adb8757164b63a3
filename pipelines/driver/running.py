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

    @property
    def is_connected(self) -> bool:
        """Whether it runs on a Spark Connect server, whose JVM is out of reach."""
        return not hasattr(self.query, "_jsq")
