"""Compares two readings of a table of state in DuckDB: a full join by key that spills to disk, whose differing rows are kept as Parquet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipelines.catalog.connection import scratch
from pipelines.catalog.sql import literal
from pipelines.catalog.state_columns import Field
from pipelines.catalog.state_examples import examples
from pipelines.catalog.state_sides import PARTITION, Shared, Side, shared, side
from pipelines.catalog.tables import row
from pipelines.domain.errors import NotFound
from pipelines.domain.state_differences import MOST_WINDOWS, ColumnDrift, ColumnRange, KeyChanges, StateExamples, WindowChanges

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "400MB"
"""What DuckDB takes before it spills, whatever the number of keys."""
SLICE_ROWS = 1_000_000
SIDES = ("a", "b")
Said = dict[str, Any]
"""`keys_a`, `keys_b`, `changes`, `partitions`, `windows`, `columns` and `notes` of a `TableDifference`."""


def compare(
    a: Sequence[str], b: Sequence[str], several: bool, rows_file: str, step: Callable[[str], None], limit: int = 0
) -> tuple[Said, StateExamples]:
    """Compares the Parquet files of two readings; the rows that differ go into `rows_file`, `limit` of each kind
    into the examples. `several`: a key may have several rows.

    Raises Unsupported (`state.keys_differ`), NotFound (`state.not_read`) where files are gone.
    """
    with scratch(memory_limit=MEMORY) as db, _viewed(db, a, b):
        db.execute("SET preserve_insertion_order = false")
        left, right = side(db, "a"), side(db, "b")
        both = shared(left, right, several)
        step("comparing keys")
        for number, only in enumerate(_slices(db, both)):
            made = "INSERT INTO differing" if number else "CREATE TEMP TABLE differing AS"
            db.execute(f"{made} {_joined(both, left, right, only)}")
        db.execute(f"COPY differing TO {literal(rows_file)} (FORMAT parquet)")
        db.execute("DROP TABLE differing")
        db.execute(f"CREATE VIEW difference AS SELECT * FROM read_parquet({literal(rows_file)})")
        step("measuring drift")
        comparison = {
            "keys_a": _keys(db, both, "a"),
            "keys_b": _keys(db, both, "b"),
            "changes": _changes(db),
            "partitions": _partitions(db),
            "windows": _windows(db, left),
            "columns": _columns(db, both),
            "notes": both.notes,
        }
        return comparison, examples(db, both, left, right, limit)


def _slices(db: DuckDBPyConnection, both: Shared) -> list[str]:
    """Conditions that cut the keys into slices, each compared by itself: lists of a key's rows are the one thing that DuckDB does not
    spill."""
    if not both.several or not both.keys:
        return ["TRUE"]
    rows = row(db, "SELECT greatest((SELECT count(*) FROM a), (SELECT count(*) FROM b))", []) or (0,)
    slices = rows[0] // SLICE_ROWS + 1
    return [f"hash({', '.join(both.keys)}) % {slices} = {number}" for number in range(slices)]


def _joined(both: Shared, left: Side, right: Side, only: str) -> str:
    """The keys that differ: `change`, the key, its partition (at B where B has it), and the values as `a` and `b`."""
    keys = "".join(f"coalesce(a.{name}, b.{name}) AS {name}, " for name in both.keys)
    held = ", a.held AS a, b.held AS b" if left.values or right.values else ""
    return f"""
        SELECT CASE WHEN a.present IS NULL THEN 'added' WHEN b.present IS NULL THEN 'removed' ELSE 'changed' END AS change,
               {keys}coalesce(b.{PARTITION}, a.{PARTITION}) AS {PARTITION}{held}
        FROM ({both.relation(left, only)}) AS a FULL JOIN ({both.relation(right, only)}) AS b ON {both.meeting}
        WHERE a.present IS NULL OR b.present IS NULL OR ({both.differing})
    """


_COUNTED = ", ".join(f"count(*) FILTER (change = '{change}')" for change in ("added", "removed", "changed"))


def _changes(db: DuckDBPyConnection) -> KeyChanges:
    return KeyChanges(*(row(db, f"SELECT {_COUNTED} FROM difference", []) or (0, 0, 0)))


def _partitions(db: DuckDBPyConnection) -> dict[int, KeyChanges]:
    by_partition = db.execute(f"SELECT {PARTITION}, {_COUNTED} FROM difference GROUP BY ALL ORDER BY 1").fetchall()
    return {partition: KeyChanges(*counted) for partition, *counted in by_partition}


def _windows(db: DuckDBPyConnection, a: Side) -> tuple[WindowChanges, ...]:
    """By the start of the key's window, the newest ones; none where the key has no window."""
    windows = [field for name, field in a.fields(a.keys).items() if field.column.kind == "time" and name.endswith(".start")]
    if not windows:
        return ()
    start = f"epoch_ms({windows[0].sql})"
    newest = f"SELECT {start}, {_COUNTED} FROM difference WHERE {start} IS NOT NULL GROUP BY ALL ORDER BY 1 DESC LIMIT {MOST_WINDOWS}"
    return tuple(WindowChanges(start_ms, KeyChanges(*counted)) for start_ms, *counted in reversed(db.execute(newest).fetchall()))


def _keys(db: DuckDBPyConnection, both: Shared, view: str) -> int:
    rows = f"(SELECT DISTINCT {', '.join(both.keys)} FROM {view})" if both.several and both.keys else view
    counted = row(db, f"SELECT count(*) FROM {rows}", [])
    return int(counted[0]) if counted else 0


def _columns(db: DuckDBPyConnection, both: Shared) -> tuple[ColumnDrift, ...]:
    if not both.fields:
        return ()
    ranges = [_ranges(db, both.fields, view) for view in SIDES]
    asked = ", ".join(f"{_changed(both, field)}, {_largest(both, field)}" for field in both.fields)
    told = row(db, f"SELECT {asked} FROM difference AS d WHERE change = 'changed'", []) or (0,) * 2 * len(both.fields)
    return tuple(
        ColumnDrift(field.column.name, field.column.kind, told[2 * at], ranges[0][at], ranges[1][at], _finite(told[2 * at + 1]))
        for at, field in enumerate(both.fields)
    )


def _changed(both: Shared, field: Field) -> str:
    """How many keys changed in the field. In the rows that differ the sides are the columns `a` and `b`."""
    a, b = (both.value(f"d.{side_name}", field) for side_name in SIDES)
    return f"count(*) FILTER ({a} IS DISTINCT FROM {b})"


def _largest(both: Shared, field: Field) -> str:
    if both.several or field.column.kind not in ("number", "time"):
        return "NULL"
    a, b = (_number(both.value(f"d.{side_name}", field), field) for side_name in SIDES)
    return f"arg_max({b} - {a}, abs({b} - {a})) FILTER (isfinite({b} - {a}))"


def _ranges(db: DuckDBPyConnection, fields: Sequence[Field], view: str) -> list[ColumnRange]:
    """Mean, least and greatest of each field over all rows of a side."""
    asked = [_range(field) for field in fields]
    told = row(db, f"SELECT {', '.join(asked)} FROM {view}", []) or (None,) * 3 * len(fields)
    return [ColumnRange(*(_finite(value) for value in told[3 * at : 3 * at + 3])) for at in range(len(fields))]


def _range(field: Field) -> str:
    if field.column.kind not in ("number", "time"):
        return "NULL, NULL, NULL"
    number = _number(field.sql, field)
    return ", ".join(f"{function}({number}) FILTER (isfinite({number}))" for function in ("avg", "min", "max"))


def _number(sql: str, field: Field) -> str:
    return f"(epoch_ms({sql}))::DOUBLE" if field.column.kind == "time" else f"({sql})::DOUBLE"


def _finite(value: float | None) -> float | None:
    """JSON has no other numbers."""
    return None if value is None or not math.isfinite(value) or abs(value) > 1e300 else float(value)


@contextmanager
def _viewed(db: DuckDBPyConnection, a: Sequence[str], b: Sequence[str]) -> Iterator[None]:
    import duckdb

    try:
        for view, files in zip(SIDES, (a, b), strict=True):
            db.execute(f"CREATE VIEW {view} AS SELECT * FROM read_parquet([{', '.join(map(literal, files))}])")
        yield
    except duckdb.IOException as error:
        raise NotFound("state.not_read", "The rows that were read are gone", "Compare the points again.") from error
