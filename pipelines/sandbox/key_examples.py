"""Requests to the sandbox for an example key of tables of state at two or three points: plain data, as JSON between two interpreters.

The folder of a task: `example.json` (an `ExampleTask`) is there before the start; the process replaces `far.json` (a `Far`) as it goes, and
writes `result.json` (an `Examples`) or `error.json` (a `Refusal`) as its last act.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.sandbox.counts import Store, Task

SAVED, OLD, NEW = "saved", "old", "new"


@dataclass(frozen=True)
class Points:
    """One table at the savepoint, and after a batch of the new and (where that ran on the same input) of the old code."""

    stores: Mapping[str, Store]
    variable: str

    @property
    def operator(self) -> tuple[str, int]:
        """Query and id of the operator that the table is of."""
        return self.stores[SAVED].query, self.stores[SAVED].operator


@dataclass(frozen=True)
class ExampleTask(Task):
    """Find one key of each operator whose rows differ."""

    FILE = "example.json"
    tables: tuple[Points, ...]
    limit_s: float
    """How long Spark may look for all of them."""

    @property
    def stores(self) -> tuple[Store, ...]:
        return tuple(store for table in self.tables for store in table.stores.values())


@dataclass(frozen=True)
class FoundExample:
    """A key and its rows at each point, as JSON objects with the columns of Spark's state reader."""

    query: str
    operator: int
    key: Mapping[str, Any]
    rows: Mapping[str, tuple[Mapping[str, Any], ...]]


@dataclass(frozen=True)
class Examples:
    """What was found: at most one for each operator."""

    found: tuple[FoundExample, ...]
    unfinished: tuple[tuple[str, int], ...] = ()
    """Query and id of the operators of which the limit ended the search."""
