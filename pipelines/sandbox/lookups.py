"""Requests to the sandbox to look one key up in a table of state, and its answers: plain data, as JSON between two interpreters.

The folder of a task: `lookup.json` (a `LookUpTask`) is there before the start; the process writes `result.json` (a `FoundKey`) or
`error.json` (a `Refusal`, or a `KeyRefusal`) as its last act.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines.sandbox.counts import Store

LOOK_UP_FILE = "lookup.json"
MOST_ROWS = 1_000
"""Of one key, or of its changes: a list, a map, or a side of a join may hold many."""
NO_KEY = "NoSuchKeyColumns"
"""Error class of a key that the table cannot have; the message says why."""


@dataclass(frozen=True)
class LookUpTask:
    """Look up the key `key` (column path -> text, or null) in a store (a side of a join, a variable) of `partitions` partitions."""

    format: int
    app: str
    master: str
    conf: Mapping[str, str]
    store: Store
    variable: str
    partitions: int
    key: Mapping[str, str | None]
    since: int | None = None
    """Not the key's rows as of the batch, but what the batches after this one made of them."""

    def write(self, folder: Path) -> None:
        (folder / LOOK_UP_FILE).write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> LookUpTask:
        raw = json.loads((folder / LOOK_UP_FILE).read_text())
        return LookUpTask(**{**raw, "store": Store(**raw["store"])})


@dataclass(frozen=True)
class FoundKey:
    """The rows of the key as JSON objects; `partition` is the one that was read, -1 where all of them were."""

    partition: int
    rows: tuple[Mapping[str, Any], ...]

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> FoundKey:
        return FoundKey(raw["partition"], tuple(raw["rows"]))
