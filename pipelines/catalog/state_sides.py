"""Two readings of one table of state as relations that can be joined by key, and which of their columns can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.catalog.sql import quoted
from pipelines.catalog.state_columns import Field, flattened, structs
from pipelines.domain.errors import Unsupported

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

KEYS = ("key", "user_map_key")
"""What a row is found by; `user_map_key` in a map variable."""
PARTITION = "partition_id"


@dataclass(frozen=True)
class Side:
    """The columns of one reading (the view `a` or `b`), by name."""

    view: str
    types: dict[str, Any]

    @property
    def keys(self) -> list[str]:
        return [name for name in KEYS if name in self.types]

    @property
    def values(self) -> list[str]:
        return [name for name in self.types if name not in (*KEYS, PARTITION)]

    @property
    def structs(self) -> dict[str, str]:
        """The structs of its values: path -> SQL. One that is null has the same fields as one of nulls."""
        return dict(structs([(name, self.types[name]) for name in self.values]))

    def fields(self, names: Sequence[str]) -> dict[str, Field]:
        """The fields of these columns, structs flattened, by their paths."""
        return {field.column.name: field for field in flattened([(name, self.types[name]) for name in names])}


@dataclass(frozen=True)
class Shared:
    """What both sides have: the columns that identify a row, fields of values that can be compared, and what is left out, in words.

    A row of `relation` has a key's columns, `partition_id`, and `held`: the values as a struct, or where a key has several rows
    (a side of a join, a list) the sorted list of them.
    """

    keys: tuple[str, ...]
    fields: tuple[Field, ...]
    structs: tuple[str, ...]
    """SQL of the structs of values that both have."""
    several: bool
    notes: tuple[str, ...]
    apart: tuple[str, ...]
    """Columns that one side lacks, or that have another type there, of which those of numbers are compared all the same."""

    @property
    def marks(self) -> tuple[str, ...]:
        """What in each of a key's rows tells a struct that is null from one of nulls is called."""
        return tuple(f"{struct} IS NULL" for struct in self.structs)

    def relation(self, side: Side, only: str = "TRUE") -> str:
        """The rows of a side; of those that hold `only`."""
        keys = "".join(f"{name}, " for name in self.keys)
        if not self.several:
            return f"SELECT {keys}{PARTITION}, {_struct(side.values, side)} AS held, TRUE AS present FROM {side.view} WHERE {only}"
        values = [f"{quoted(field.column.name)} := {field.sql}" for field in self.fields]
        nulls = [f"{quoted(mark)} := {struct} IS NULL" for mark, struct in zip(self.marks, self.structs, strict=True)]
        packed = f"struct_pack({', '.join([*values, *nulls])})" if values or nulls else "0"
        by = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        rows = f"list({packed} ORDER BY {packed})"
        return f"SELECT {keys}min({PARTITION}) AS {PARTITION}, {rows} AS held, TRUE AS present FROM {side.view} WHERE {only}{by}"

    def value(self, held: str, field: Field) -> str:
        """The value of a field in what a side's row has as `held`; of several rows the sorted list of values."""
        if self.several:
            return f"list_sort(list_transform({held}, lambda x: x.{quoted(field.column.name)}))"
        return f"{held}.{field.sql}"

    @property
    def meeting(self) -> str:
        """The condition under which rows of `a` and `b` have the same key."""
        return " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in self.keys) or "TRUE"

    @property
    def differing(self) -> str:
        """The condition under which two rows of one key differ."""
        if self.several:
            return "a.held IS DISTINCT FROM b.held"
        values = [f"({self.value('a.held', field)} IS DISTINCT FROM {self.value('b.held', field)})" for field in self.fields]
        nulls = [f"((a.held.{struct} IS NULL) <> (b.held.{struct} IS NULL))" for struct in self.structs]
        return " OR ".join([*values, *nulls]) or "FALSE"


def _struct(names: Sequence[str], side: Side) -> str:
    """The columns as one struct, each under its own name."""
    return f"struct_pack({', '.join(f'{quoted(name)} := {side.view}.{quoted(name)}' for name in names)})" if names else "0"


def side(db: DuckDBPyConnection, view: str) -> Side:
    shown = db.sql(f"SELECT * FROM {view} LIMIT 0")
    return Side(view, dict(zip(shown.columns, shown.types, strict=True)))


def shared(a: Side, b: Side, several: bool) -> Shared:
    """What of both can be compared. Unsupported (`state.keys_differ`) where their keys are not of the same columns and types."""
    keys_a, keys_b = (reading.fields(reading.keys) for reading in (a, b))
    if {name: field.column.type for name, field in keys_a.items()} != {name: field.column.type for name, field in keys_b.items()}:
        raise Unsupported(
            "state.keys_differ", f"its keys are {_told(keys_a)} at A and {_told(keys_b)} at B", "Compare points of one version."
        )
    values_a, values_b = (reading.fields(reading.values) for reading in (a, b))
    both = [(field, values_b[name]) for name, field in values_a.items() if name in values_b]
    notes = [f"{name} is only in A" for name in values_a if name not in values_b]
    notes += [f"{name} is only in B" for name in values_b if name not in values_a]
    notes += [
        f"{left.column.name} is {left.column.type} at A and {right.column.type} at B" for left, right in both if not _alike(left, right)
    ]
    same = tuple(left for left, right in both if _alike(left, right))
    nulls = tuple(sql for path, sql in a.structs.items() if path in b.structs)
    apart = [*values_a.keys() ^ values_b.keys(), *(left.column.name for left, right in both if left.column.type != right.column.type)]
    return Shared(tuple(a.keys), same, nulls, several, tuple(notes), tuple(sorted(apart)))


def _alike(a: Field, b: Field) -> bool:
    return a.column.type == b.column.type or a.column.kind == b.column.kind == "number"


def _told(fields: dict[str, Field]) -> str:
    return ", ".join(f"{name} {field.column.type}" for name, field in fields.items()) or "empty"
