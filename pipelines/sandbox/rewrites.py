"""Requests to the sandbox to rewrite the state of checkpoints that nothing else uses, and its answers: plain data, as JSON.

The folder of a task: `rewriting.json` (a `RewriteTask`) is there before the start; the process replaces `far.json` (a `Far`) as it goes and
writes `result.json` (a `Rewritten`) or `error.json` (a `Refusal`) as its last act.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines.sandbox.counts import Store

REWRITE_FILE = "rewriting.json"
CANNOT_RESCALE = "CannotRescale"
"""The error class of a Spark that has no call for it."""


@dataclass(frozen=True)
class RewriteTask:
    """Give the state of `stores` other partitions, with a Spark on `master` that has the confs of the job. All stores of a checkpoint go
    together."""

    format: int
    app: str
    master: str
    conf: Mapping[str, str]
    stores: tuple[Store, ...]
    """Each at the last batch of its checkpoint."""
    partitions: int

    def write(self, folder: Path) -> None:
        (folder / REWRITE_FILE).write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> RewriteTask:
        raw = json.loads((folder / REWRITE_FILE).read_text())
        return RewriteTask(**{**raw, "stores": tuple(Store(**store) for store in raw["stores"])})


@dataclass(frozen=True)
class Contents:
    """What a store holds over all its partitions, in whatever order."""

    rows: int
    """Entries of all its column families, Spark's own among them."""
    digest: str
    """The sum of a hash of each (column family, key, value), each with its bytes."""


@dataclass(frozen=True)
class RewrittenStore:
    """Contents of one store, read before and after."""

    store: Store
    before: Contents
    after: Contents


@dataclass(frozen=True)
class Rewritten:
    """What was done: one `RewrittenStore` for each store of the task."""

    spark_version: str
    stores: tuple[RewrittenStore, ...]

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Rewritten:
        stores = (
            RewrittenStore(Store(**entry["store"]), Contents(**entry["before"]), Contents(**entry["after"])) for entry in raw["stores"]
        )
        return Rewritten(raw["spark_version"], tuple(stores))
