"""State: the tables of a savepoint's state, their kept readings, and queries on a reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pipelines.domain.bounds import Count, Moment, Took
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import QueryName, SavepointId, content_id

MOST_ROWS = 1_000_000
"""Rows of a reading unless somebody asks for more: what fits on any disk."""
EVENT_TIMERS, CLOCK_TIMERS = "event time", "processing time"
"""Kinds of the timers that a transformWithState has registered."""
ALL_TIMERS = "$timers"
"""What the sandbox is asked for to read timers: no state variable of Spark's has such a name."""


DATE, MOMENT = "DATE", "TIMESTAMP WITH TIME ZONE"
"""DuckDB's types of a day, and of a time with a zone; other times are those of a clock on a wall, wherever that is."""


class NamesTable(Protocol):
    """Names one table of a savepoint's state; what is empty or None is the only one there is."""

    @property
    def query(self) -> str: ...
    @property
    def operator(self) -> int | None: ...
    @property
    def store(self) -> str: ...
    @property
    def variable(self) -> str: ...


@dataclass(frozen=True)
class Reading:
    """Rows of one table, kept as Parquet. `rows` is what was read of the `total` rows; `partitions` is rows (all of them) by partition."""

    id: str
    savepoint: SavepointId
    query: QueryName
    operator: Count
    store: str
    variable: str
    batch: Count
    rows: Count
    total: Count
    bytes: Count
    """On this disk."""
    partitions: Mapping[Count, Count]
    spark_version: str
    read_ms: Moment
    took_ms: Took

    @property
    def whole(self) -> bool:
        """Whether every row of the table was read."""
        return self.rows >= self.total


class TableKey:
    """What tells a table of state from the others: its query, the id of its operator, its store and its variable."""

    query: QueryName
    operator: int
    store: str
    variable: str

    @property
    def title(self) -> str:
        """`counts / 0 / default`."""
        return " / ".join(str(part) for part in self.names.values() if part != "")

    @property
    def names(self) -> dict[str, Any]:
        """Its fields by which it is asked for."""
        return {name: getattr(self, name) for name in ("query", "operator", "store", "variable")}


@dataclass(frozen=True)
class StateTable(TableKey):
    """One table of a savepoint's state: a state store, a side of a join, or a state variable of a transformWithState."""

    query: QueryName
    operator: int
    name: str
    """Spark's name of the operator: `stateStoreSave`, `symmetricHashJoin`, …"""
    store: str
    """Spark's name of the store (`default`); of a join also `left` and `right`, the rows that it keeps of either side."""
    variable: str
    kind: str
    """Of a variable `value`, `list` or `map`; of timers `event time` or `processing time`; empty otherwise."""
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
    def rows_apart(self) -> int | None:
        """By how many rows the reading differs from the operator's own count. None where there is no reading or no count, or where the
        operator counts more than this table."""
        whole = self.store == "default" and not self.variable and not self.internal
        return self.reading.total - self.operator_rows if self.reading and self.operator_rows is not None and whole else None

    @property
    def is_timers(self) -> bool:
        """Whether its rows are timers: of each key those that are registered."""
        return self.kind in (EVENT_TIMERS, CLOCK_TIMERS)

    @property
    def read_as(self) -> str:
        """The variable that the sandbox is asked for."""
        return ALL_TIMERS if self.is_timers else self.variable


@dataclass(frozen=True)
class StateColumn:
    """A column of an answer; a field of a struct has its path (`key.window.start`). Values of the kind `time` are epoch ms, with a
    fraction where they have microseconds; of a day, and of a time without a zone, as if they were in UTC."""

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
    """The id of the one reading of a table of a savepoint."""
    fields = {"query": table.query, "operator": table.operator, "store": table.store, "variable": table.variable}
    return content_id("st", {"savepoint": savepoint, **fields})


def chosen(tables: Sequence[StateTable], request: NamesTable) -> StateTable:
    """The one table that `request` names; what is only Spark's layout has to be named, and timers beside state variables.

    NotFound (`state.not_found`) for none, Invalid (`state.several`) for more than one.
    """
    fitting = [table for table in tables if _fits(table, request)]
    candidates = fitting if request.store else [table for table in fitting if not table.internal]
    if not request.variable:
        candidates = [table for table in candidates if not table.is_timers] or candidates
    if not tables:
        raise NotFound("state.none", "No query of this savepoint keeps state", "Queries with aggregations, joins or deduplications do.")
    if not candidates:
        raise NotFound("state.not_found", "The savepoint has no such state", f"It has {listed(tables)} (query / operator / store).")
    if len(candidates) > 1:
        raise Invalid(
            "state.several",
            f"The savepoint has {len(candidates)} tables of state that could be meant",
            f"Name one of {listed(candidates)}.",
        )
    return candidates[0]


def listed(tables: Sequence[StateTable]) -> str:
    """The titles of tables."""
    return ", ".join(table.title for table in tables)


def _fits(table: StateTable, request: NamesTable) -> bool:
    return (
        request.query in ("", table.query)
        and request.operator in (None, table.operator)
        and request.store in ("", table.store)
        and request.variable in ("", table.variable)
    )
