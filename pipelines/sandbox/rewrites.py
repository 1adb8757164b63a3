"""Requests to the sandbox to rewrite the state of checkpoints that nothing else uses, and its answers: plain data, as JSON.

The folder of a task: `rewriting.json` (a `RewriteTask`) is there before the start; the process replaces `far.json` (a `Far`) as it goes and
writes `result.json` (a `Rewritten`) or `error.json` (a `Refusal`) as its last act.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.sandbox.counts import Store, Task

CANNOT_RESCALE = "CannotRescale"
"""The error class of a Spark that has no call for it."""


@dataclass(frozen=True)
class RewriteTask(Task):
    """Give the state of `stores` other partitions. All stores of a checkpoint go
    together."""

    FILE = "rewriting.json"
    stores: tuple[Store, ...]
    """Each at the last batch of its checkpoint."""
    partitions: int


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
