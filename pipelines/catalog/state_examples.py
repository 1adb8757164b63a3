"""Examples of the rows of state that differ, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.catalog.output_rows import of_json
from pipelines.catalog.state_columns import Field
from pipelines.catalog.state_sides import Shared, Side
from pipelines.domain.state_differences import StateExamples

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Columns = Mapping[str, str]
"""Column -> the SQL of its value as JSON's text."""
Row = Mapping[str, Any]
ROWS = "rows"
"""What the sorted list of a key's rows is called."""


@dataclass(frozen=True)
class Shown:
    """The first rows of the view `difference`, in the order of their keys' values."""

    db: DuckDBPyConnection
    order: Sequence[str]
    limit: int

    def rows(self, sql: Sequence[str], change: str) -> list[list[Any]]:
        if not self.limit or not sql:
            return []
        by = f"ORDER BY {', '.join(self.order)}" if self.order else ""
        chosen = f"SELECT {', '.join(sql)} FROM difference WHERE change = '{change}' {by} LIMIT {self.limit:d}"
        return [[of_json(value) for value in row] for row in self.db.execute(chosen).fetchall()]


def examples(db: DuckDBPyConnection, both: Shared, left: Side, right: Side, limit: int) -> StateExamples:
    """At most `limit` rows of each kind of the view `difference`, in the order of their keys."""
    named = left.fields(both.keys)
    keys = {name: _json(field, field.sql) for name, field in named.items()}
    shown = Shown(db, [field.sql for field in named.values()], limit)
    a, b = _values(both, left, "a"), _values(both, right, "b")
    rows = {
        "only_a": _only(shown, keys, a, "removed"),
        "only_b": _only(shown, keys, b, "added"),
        "changed": _changed(shown, keys, a, b),
    }
    if both.several:
        rows = {change: tuple(_unmarked(row, both.marks) for row in of_change) for change, of_change in rows.items()}
    columns = (ROWS,) if both.several else tuple(field.column.name for field in both.fields)
    return StateExamples(tuple(keys), columns, both.apart, rows)


def _unmarked(row: Row, marks: Sequence[str]) -> Row:
    """Without the marks of structs that are not null in the lists of a key's rows."""
    lists = {name: row[name] for name in (ROWS, f"a.{ROWS}", f"b.{ROWS}") if row.get(name)}
    told = {name: [{at: of for at, of in held.items() if at not in marks or of} for held in rows] for name, rows in lists.items()}
    return {**row, **told}


def _values(both: Shared, side: Side, at: str) -> Columns:
    """The values in the side `at` of the view."""
    if both.several:
        return {ROWS: f"to_json({at})::VARCHAR"}
    return {name: _json(field, f"{at}.{field.sql}") for name, field in side.fields(side.values).items()}


def _json(field: Field, sql: str) -> str:
    """The value of the field at `sql` as JSON's text; a time as text, too: these rows do not say which of their columns are times."""
    return f"to_json({sql})::VARCHAR" if field.column.kind == "time" else replace(field, sql=sql).as_json


def _only(shown: Shown, keys: Columns, values: Columns, change: str) -> tuple[Row, ...]:
    rows = shown.rows([*keys.values(), *values.values()], change)
    return tuple(dict(zip((*keys, *values), row, strict=True)) for row in rows)


def _changed(shown: Shown, keys: Columns, a: Columns, b: Columns) -> tuple[Row, ...]:
    """The columns of a row that differ; every column of one whose structs are null at one side alone."""
    names = [name for name in a if name in b]
    sql = [*keys.values(), *(side[name] for name in names for side in (a, b))]
    return tuple(_change(list(keys), names, row) for row in shown.rows(sql, "changed"))


def _change(keys: Sequence[str], names: Sequence[str], row: Sequence[Any]) -> Row:
    pairs = list(zip(row[len(keys) :: 2], row[len(keys) + 1 :: 2], strict=True))
    differing = [(name, a, b) for name, (a, b) in zip(names, pairs, strict=True) if a != b]
    shown = differing or [(name, a, b) for name, (a, b) in zip(names, pairs, strict=True)]
    values = {f"{side}.{name}": value for name, a, b in shown for side, value in (("a", a), ("b", b))}
    return dict(zip(keys, row, strict=False)) | values
