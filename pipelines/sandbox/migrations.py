"""Requests to the sandbox to rewrite state for changed code, and its answers: plain data, as JSON.

The folder of a task: `migration.json` (a `MigrationTask`) is there before the start; the process replaces `far.json` (a `Far`) as it goes
and writes `result.json` (a `Migrated`) or `error.json` (a `Refusal`) as its last act.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.conversions import Shape
from pipelines.domain.state_variables import Family
from pipelines.sandbox.counts import Store, Task
from pipelines.sandbox.rewrites import Contents

CANNOT_MIGRATE = ("CannotMigrate", "CannotConvert", "CannotEncode", "Missing")
"""The error classes of state, or of a Spark, that the migration does not know."""
WRONG_ROWS = "WrongRows"
"""The error class of a function that fails, or whose rows do not fit."""


@dataclass(frozen=True)
class Target:
    """What a store becomes: its shape after, where Spark wrote what its operator will say of itself, and the rows' expressions."""

    shape: Shape
    contract: str
    """The operator's folder of Spark's metadata and schemas, as the new code has them."""
    expressions: tuple[str, ...] = ()
    """One for each new column, as SQL over the column `value` of the old rows; none where the task's function makes the rows."""
    never_null: tuple[int, ...] = ()
    """Places of the value's columns that always have a value."""
    key: tuple[str, ...] = ()
    """One expression for each new column of the key, over the column `key` of the old rows; none where they stay. Keys that become one
    are one row."""
    spread_by: int = 0
    """How many of the key's columns, its first, say which partition a row is in; 0 for all."""
    copies: tuple[tuple[str, str], ...] = ()
    """What stands in the key and in the value of each row, as SQL over either."""
    name: str = ""
    """What the user's function is told of whose rows these are: `counts.0`, of a side of a join `joined.0.left`."""
    is_numbered: bool = False
    """Whether the last column of the key numbers the rows of what is before it, from 0 on: rows of a function are numbered anew."""
    counts: str = ""
    """The store whose numbered rows this one counts, for each key; its own old rows say nothing then."""
    families: tuple[Family, ...] = ()
    """Of a store with state variables the column families that get rows, with where they come from; the others begin empty."""


@dataclass(frozen=True)
class Placing:
    """Give the operators of one query other places; what is not moved is dropped."""

    checkpoint: str
    batch: int
    contract: str
    """The folder `state` of Spark's metadata and schemas, as the new code has them."""
    moved: tuple[tuple[int, int], ...]
    """Numbers before and now, of those that stay as well."""
    added: tuple[Store, ...] = ()
    """Stores of operators that begin empty."""
    shapes: tuple[Shape, ...] = ()
    """One for each of them."""


@dataclass(frozen=True)
class MigrationTask(Task):
    """Give operators other places, then rewrite `stores`, all of each operator in its new place."""

    FILE = "migration.json"
    stores: tuple[Store, ...]
    """Each at the last batch of its checkpoint."""
    targets: tuple[Target, ...]
    """One for each store."""
    function: str = ""
    code: str = ""
    """The user's function, and the text of its file."""
    places: tuple[Placing, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    """Folders at a home that are copied at last, each with where to."""


@dataclass(frozen=True)
class MigratedStore:
    """One store: how many rows it held, what the new rows are, and what Spark reads back."""

    store: Store
    rows: int
    given: Contents
    after: Contents


@dataclass(frozen=True)
class Migrated:
    """What was done: one `MigratedStore` for each store of the task."""

    spark_version: str
    stores: tuple[MigratedStore, ...]
