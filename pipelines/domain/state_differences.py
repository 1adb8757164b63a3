"""State differences: which keys of state were added, removed and changed between two points, and how far each column drifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pipelines.domain.bounds import Batch, Count, Moment, Rate, Took
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import JobName, QueryName, SavepointId
from pipelines.domain.states import NamesTable, StateTable, TableKey

MOST_WINDOWS = 300
"""Windows of a table that a difference tells of, the newest."""


@dataclass(frozen=True)
class StateAt:
    """A point whose state is compared: a savepoint, or the newest or a retained batch of a job."""

    named: str
    job: JobName
    savepoint: SavepointId
    """Of a job's batch the id that its readings are kept by: no savepoint is kept of it."""
    batches: Mapping[QueryName, Batch]
    at_ms: Moment
    """When the first query's batch was planned."""


@dataclass(frozen=True)
class KeyChanges:
    """How many keys only B has, only A has, and both have with another value."""

    added: Count
    removed: Count
    changed: Count

    @property
    def total(self) -> int:
        return self.added + self.removed + self.changed


@dataclass(frozen=True)
class ColumnRange:
    """A column over all rows of a side: None where it has no numbers. Times are epoch ms."""

    mean: Rate | None
    least: Rate | None
    greatest: Rate | None


@dataclass(frozen=True)
class ColumnDrift:
    """A column of the values on both sides."""

    name: str
    kind: str
    """As `StateColumn` has it."""
    changed: Count
    """Keys on both sides whose values differ in it."""
    a: ColumnRange
    b: ColumnRange
    largest: Rate | None
    """The largest change of one key, B less A; None where it has no numbers, or a key has several rows."""


@dataclass(frozen=True)
class WindowChanges:
    """The keys of one window."""

    start_ms: Rate
    changes: KeyChanges


@dataclass(frozen=True)
class TableDifference(TableKey):
    """One table of state at both points."""

    query: QueryName
    operator: Count
    name: str
    store: str
    variable: str
    reading_a: str
    reading_b: str
    """Ids of the readings that were compared."""
    keys_a: Count
    keys_b: Count
    changes: KeyChanges
    partitions: Mapping[Count, KeyChanges]
    """Only those in which anything differs."""
    windows: tuple[WindowChanges, ...]
    """Earliest first; empty where the keys have no window."""
    columns: tuple[ColumnDrift, ...]
    notes: tuple[str, ...]
    """Columns that were not compared, and why."""

    @property
    def same(self) -> int:
        """Keys that both have with the same value."""
        return self.keys_a - self.changes.removed - self.changes.changed


@dataclass(frozen=True)
class StateExamples:
    """What a comparison of a table shows besides its counts."""

    keys: tuple[str, ...]
    """The columns that a row is found by."""
    columns: tuple[str, ...]
    """The columns of values that were compared."""
    apart: tuple[str, ...]
    """Columns that one side lacks, or that have another type there."""
    rows: Mapping[str, tuple[Mapping[str, Any], ...]]
    """`only_a`, `only_b`: rows; `changed`: the key, and `a.<column>` and `b.<column>` of each column that differs. JSON values."""


@dataclass(frozen=True)
class NotCompared:
    """A table of state that could not be compared, and why."""

    title: str
    reason: str


@dataclass(frozen=True)
class StateDifference:
    """All tables of state of two points."""

    id: str
    a: StateAt
    b: StateAt
    tables: tuple[TableDifference, ...]
    apart: tuple[NotCompared, ...]
    bytes: Count
    """Of the rows that differ, on this disk."""
    made_ms: Moment
    took_ms: Took


@dataclass(frozen=True)
class Pair:
    """The same table of state at both points."""

    a: StateTable
    b: StateTable


def paired(a: Sequence[StateTable], b: Sequence[StateTable]) -> tuple[tuple[Pair, ...], tuple[NotCompared, ...]]:
    """The tables that can be compared, matched by query, operator, store and variable; and the others, each with the reason.

    Where each side has one query they are matched whatever their names are. Spark's own layout of joins is left out.
    """
    own_a, own_b = ([table for table in tables if not table.internal] for tables in (a, b))
    by_name = {_place(table, own_b): table for table in own_b}
    pairs, apart = list[Pair](), list[NotCompared]()
    for table in own_a:
        other = by_name.pop(_place(table, own_a), None)
        if other is None:
            apart.append(NotCompared(table.title, "B has no such state"))
        elif other.name != table.name:
            apart.append(NotCompared(table.title, f"it is of the operator {table.name} at A and of {other.name} at B"))
        elif other.kind != table.kind:
            apart.append(NotCompared(table.title, f"it is a {table.kind} at A and a {other.kind} at B"))
        else:
            pairs.append(Pair(table, other))
    apart += [NotCompared(table.title, "A has no such state") for table in by_name.values()]
    return tuple(pairs), tuple(apart)


Named = TypeVar("Named", StateTable, TableDifference)


def named(tables: Sequence[Named], request: NamesTable) -> list[Named]:
    """The tables that `request` names."""
    return [
        table
        for table in tables
        if request.query in ("", table.query)
        and request.operator in (None, table.operator)
        and request.store in ("", table.store)
        and request.variable in ("", table.variable)
    ]


def chosen(tables: Sequence[TableDifference], request: NamesTable) -> TableDifference:
    """The one table that `request` names; NotFound (`state.not_found`) for none, Invalid (`state.several`) for more than one."""
    fitting = named(tables, request)
    if len(fitting) == 1:
        return fitting[0]
    titles = ", ".join(table.title for table in fitting or tables) or "none"
    if not fitting:
        raise NotFound("state.not_found", "The difference has no such state", f"It has {titles} (query / operator / store).")
    raise Invalid("state.several", f"The difference has {len(fitting)} tables that could be meant", f"Name one of {titles}.")


def _place(table: StateTable, among: Sequence[StateTable]) -> tuple[str, int, str, str]:
    query = table.query if len({other.query for other in among}) > 1 else ""
    return query, table.operator, table.store, table.variable
