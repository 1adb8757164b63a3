"""Requests to the sandbox to look one key up in a table of state, and its answers: plain data, as JSON between two interpreters.

The folder of a task: `lookup.json` (a `LookUpTask`) is there before the start; the process writes `result.json` (a `FoundKey`) or
`error.json` (a `Refusal`, or `NO_KEY` with why) as its last act.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.sandbox.counts import Store, Task

MOST_ROWS = 1_000
"""Of one key, or of its changes: a list, a map, or a side of a join may hold many."""
NO_KEY = "NoSuchKeyColumns"
"""Error class of a key that the table cannot have; the message says why."""


@dataclass(frozen=True)
class LookUpTask(Task):
    """Look up the key `key` (column path -> text, or null) in a store (a side of a join, a variable) of `partitions` partitions."""

    FILE = "lookup.json"
    store: Store
    variable: str
    partitions: int
    key: Mapping[str, str | None]
    since: int | None = None
    """Not the key's rows as of the batch, but what the batches after this one made of them."""


@dataclass(frozen=True)
class FoundKey:
    """The rows of the key as JSON objects; `partition` is the one that was read, -1 where all of them were."""

    partition: int
    rows: tuple[Mapping[str, Any], ...]
