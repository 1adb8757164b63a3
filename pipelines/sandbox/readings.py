"""Requests to the sandbox to read one table of state, and its answers: plain data, as JSON between two interpreters.

The folder of a task: `reading.json` (a `ReadTask`) is there before the start; the process replaces `far.json` (a `Far`) as it goes, leaves
the rows as Parquet in `rows/`, and writes `result.json` (a `ReadRows`) or `error.json` (a `Refusal`) as its last act.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.sandbox.counts import Store, Task

FAR_FILE = "far.json"
ROWS_FOLDER = "rows"


@dataclass(frozen=True)
class ReadTask(Task):
    """Read at most `limit` rows of a store (a side of a join, a variable)."""

    FILE = "reading.json"
    store: Store
    variable: str
    limit: int


@dataclass(frozen=True)
class Far:
    """How far the process is: partitions done of a step."""

    step: str
    done: int
    total: int

    @staticmethod
    def read(folder: Path) -> Far | None:
        path = folder / FAR_FILE
        return Far(**json.loads(path.read_text())) if path.is_file() else None


@dataclass(frozen=True)
class ReadRows:
    """What was read: rows of the whole table by partition, and how many of them are in `rows/`."""

    spark_version: str
    partitions: Mapping[int, int]
    rows: int

    @property
    def total(self) -> int:
        return sum(self.partitions.values())
