"""Requests to the sandbox to rewrite state for changed code, and its answers: plain data, as JSON.

The folder of a task: `migration.json` (a `MigrationTask`) is there before the start; the process replaces `far.json` (a `Far`) as it goes
and writes `result.json` (a `Migrated`) or `error.json` (a `Refusal`) as its last act.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines.domain.conversions import Shape
from pipelines.domain.state_variables import Family
from pipelines.sandbox.counts import Store
from pipelines.sandbox.rewrites import Contents

MIGRATION_FILE = "migration.json"
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
class MigrationTask:
    """Give operators other places, then rewrite `stores`, all of each operator in its new place, with a Spark on `master` that has
    the confs of the job."""

    format: int
    app: str
    master: str
    conf: Mapping[str, str]
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

    def write(self, folder: Path) -> None:
        (folder / MIGRATION_FILE).write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> MigrationTask:
        raw = json.loads((folder / MIGRATION_FILE).read_text())
        targets = (_target(target) for target in raw["targets"])
        stores, places = (Store(**store) for store in raw["stores"]), (_placing(place) for place in raw["places"])
        copies = ((source, target) for source, target in raw["copies"])
        return MigrationTask(
            **{**raw, "stores": tuple(stores), "targets": tuple(targets), "places": tuple(places), "copies": tuple(copies)}
        )


def _target(raw: Mapping[str, Any]) -> Target:
    expressions, never_null, key = (tuple(raw[name]) for name in ("expressions", "never_null", "key"))
    copies = tuple((key, value) for key, value in raw["copies"])
    families = tuple(_family(family) for family in raw["families"])
    made = {"expressions": expressions, "never_null": never_null, "key": key, "copies": copies, "families": families}
    return Target(**{**raw, **made, "shape": Shape(**raw["shape"])})


def _family(raw: Mapping[str, Any]) -> Family:
    keys, values = ((raw[part][0], raw[part][1]) for part in ("keys", "values"))
    places = raw["places"] if raw["places"] is None else tuple(raw["places"])
    return Family(raw["before"], raw["after"], keys, values, (raw["kinds"][0], raw["kinds"][1]), places, raw["time"])


def _placing(raw: Mapping[str, Any]) -> Placing:
    moved = tuple((before, after) for before, after in raw["moved"])
    added, shapes = tuple(Store(**store) for store in raw["added"]), tuple(Shape(**shape) for shape in raw["shapes"])
    return Placing(raw["checkpoint"], raw["batch"], raw["contract"], moved, added, shapes)


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

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Migrated:
        stores = (MigratedStore(Store(**o["store"]), o["rows"], Contents(**o["given"]), Contents(**o["after"])) for o in raw["stores"])
        return Migrated(raw["spark_version"], tuple(stores))
