"""What a job remembers: the tables of a savepoint's state, the readings of them that are kept, the questions put to a reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import QueryName, SavepointId, content_id

MOST_ROWS = 1_000_000
"""Rows of a reading unless somebody asks for more: what fits on any disk."""


@dataclass(frozen=True)
class StateRequest:
    """Read one table of a savepoint's state with Spark, at most `limit` rows of it. What is empty or None is the only one there is."""

    query: str = ""
    operator: int | None = None
    store: str = ""
    variable: str = ""
    limit: int = MOST_ROWS


@dataclass(frozen=True)
class StateQuery:
    """A question to a reading: its rows from `offset` on, those that hold `filter`, in the order of the column `sort`.

    With `sql` instead: one SELECT over the view `state`, whose columns are `key`, `value` (structs) and `partition_id`.
    """

    query: str = ""
    operator: int | None = None
    store: str = ""
    variable: str = ""
    sort: str = ""
    descending: bool = False
    filter: str = ""
    sql: str = ""
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True)
class Reading:
    """Rows of one table, kept as Parquet. `rows` is what was read of the `total` rows; `partitions` is rows (all of them) by partition."""

    id: str
    savepoint: SavepointId
    query: QueryName
    operator: int
    store: str
    variable: str
    batch: int
    rows: int
    total: int
    bytes: int
    """On this disk."""
    partitions: Mapping[int, int]
    spark_version: str
    read_ms: int
    took_ms: float

    @property
    def whole(self) -> bool:
        """Whether every row of the table was read."""
        return self.rows >= self.total


@dataclass(frozen=True)
class StateTable:
    """One table of a savepoint's state: a state store, a side of a join, or a state variable of a transformWithState."""

    query: QueryName
    operator: int
    name: str
    """Spark's name of the operator: `stateStoreSave`, `symmetricHashJoin`, …"""
    store: str
    """Spark's name of the store (`default`); of a join also `left` and `right`, the rows that it keeps of either side."""
    variable: str
    kind: str
    """Of a variable `value`, `list` or `map`; empty otherwise."""
    internal: bool
    """Whether it is only how Spark lays a join out: an index, or a side with Spark's own columns."""
    provider: str
    partitions: int
    batch: int
    bytes: int
    """What the store's files take in the savepoint; the variables of one store share it."""
    operator_rows: int | None
    """Rows of the whole operator, as a proof or the job's own progress counted them; None where neither did."""
    reading: Reading | None = None
    """What is kept of it; None while nobody has read it."""

    @property
    def title(self) -> str:
        """`counts / 0 / default`: what tells it from the others."""
        return " / ".join(filter(None, (self.query, str(self.operator), self.store, self.variable)))


@dataclass(frozen=True)
class StateColumn:
    """A column of an answer; a field of a struct has its path (`key.window.start`). Values of the kind `time` are epoch ms."""

    name: str
    type: str
    """As DuckDB names it."""
    kind: str
    """`time`, `number`, `text`, `boolean` or `nested` (lists and maps, as JSON)."""


@dataclass(frozen=True)
class StateRows:
    """An answer: rows of JSON values under `columns`. `matches` is how many rows fit what was asked; None where nobody counted."""

    columns: tuple[StateColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    matches: int | None
    more: bool
    """Whether there are more rows behind these."""
    took_ms: float


def reading_id(savepoint: SavepointId, table: StateTable) -> str:
    """The same table of the same savepoint has one reading."""
    named = {"query": table.query, "operator": table.operator, "store": table.store, "variable": table.variable}
    return content_id("st", {"savepoint": savepoint, **named})


def chosen(tables: Sequence[StateTable], asked: StateRequest | StateQuery) -> StateTable:
    """The one table that `asked` means; what is only Spark's layout has to be named.

    NotFound (`state.not_found`) for none, Invalid (`state.several`) for more than one.
    """
    fitting = [one for one in tables if _fits(one, asked)]
    found = fitting if asked.store else [one for one in fitting if not one.internal]
    if not tables:
        raise NotFound("state.none", "No query of this savepoint keeps state", "Aggregations, joins, deduplications and the like do.")
    if not found:
        raise NotFound("state.not_found", "The savepoint has no such state", f"It has {listed(tables)} (query / operator / store).")
    if len(found) > 1:
        raise Invalid(
            "state.several", f"The savepoint has {len(found)} tables of state that could be meant", f"Name one of {listed(found)}."
        )
    return found[0]


def listed(tables: Sequence[StateTable]) -> str:
    """Their titles."""
    return ", ".join(one.title for one in tables)


def _fits(table: StateTable, asked: StateRequest | StateQuery) -> bool:
    return (
        asked.query in ("", table.query)
        and asked.operator in (None, table.operator)
        and asked.store in ("", table.store)
        and asked.variable in ("", table.variable)
    )
