"""The rows of two outputs side by side in one table: counted, matched by key, shown, summed over time.

Columns are called c0, c1, … here, so that no name of theirs can clash with ours. Table `rows`: `is_b`, `t` (event time in ms)
and the columns. Table `odd`: each row that the sides do not have equally often, with how often (`in_a`, `in_b`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.catalog import interval_columns
from pipelines.catalog.output_columns import Column, TimeColumn
from pipelines.catalog.output_files import Output, unreadable
from pipelines.catalog.sql import quoted
from pipelines.catalog.tables import row
from pipelines.domain.errors import Incompatible
from pipelines.domain.experiments import OutputOverTime, Parting
from pipelines.domain.json_text import read_exactly
from pipelines.domain.texts import first_line

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TIME_POINTS = 600


@dataclass(frozen=True)
class Tally:
    """How many rows each side has, and how many of them the other does not have (as often)."""

    rows_a: int
    rows_b: int
    surplus_a: int
    surplus_b: int


def load(db: DuckDBPyConnection, a: Output, b: Output, columns: Sequence[Column], time: TimeColumn | None, until_ms: int | None) -> None:
    """Read both sides into `rows`, up to `until_ms`. Columns of other type on a side take the wider one."""
    import duckdb

    sides = " UNION ALL ".join(_side(out, is_b, columns, time, until_ms) for out, is_b in ((a, False), (b, True)))
    try:
        db.execute(f"CREATE TEMP TABLE rows AS {sides}")
    except (duckdb.ConversionException, duckdb.BinderException) as error:
        raise Incompatible(
            "compare.types",
            f"The outputs' columns cannot be compared: {first_line(error)}",
            "Give the columns the same types in both jobs.",
        ) from error
    except (duckdb.InvalidInputException, duckdb.IOException) as error:
        raise unreadable(error) from error


def _side(out: Output, is_b: bool, columns: Sequence[Column], time: TimeColumn | None, until_ms: int | None) -> str:
    taken = ", ".join(f"{quoted(column.name)} AS {column.at}" for column in columns)
    chosen = f"SELECT {is_b} AS is_b, {time.sql_ms if time else 'NULL::BIGINT'} AS t, {taken} FROM {out.relation}"
    return chosen if until_ms is None or time is None else f"{chosen} WHERE {time.sql_ms} <= {until_ms:d}"


def unique(db: DuckDBPyConnection, keys: Sequence[Column]) -> bool:
    """Whether no two rows of one side have the same values in `keys`."""
    twice = row(db, f"SELECT 1 FROM rows GROUP BY is_b, {_listed(keys)} HAVING count(*) > 1 LIMIT 1")
    return twice is None


def tally(db: DuckDBPyConnection, columns: Sequence[Column]) -> Tally:
    """Count both sides as multisets, and leave in `odd` what they do not share."""
    db.execute(
        f"CREATE TEMP TABLE odd AS SELECT {_listed(columns)}, count(*) FILTER (NOT is_b) AS in_a, count(*) FILTER (is_b) AS in_b, "
        f"min(t) AS t FROM rows GROUP BY {_listed(columns)} HAVING in_a <> in_b"
    )
    rows_a, rows_b = _numbers(db, "SELECT count(*) FILTER (NOT is_b), count(*) FILTER (is_b) FROM rows")
    surplus_a, surplus_b = _numbers(
        db, "SELECT coalesce(sum(greatest(in_a - in_b, 0)), 0), coalesce(sum(greatest(in_b - in_a, 0)), 0) FROM odd"
    )
    return Tally(rows_a, rows_b, surplus_a, surplus_b)


def changed(db: DuckDBPyConnection, columns: Sequence[Column], keys: Sequence[Column]) -> int:
    """Leave in `pairs` the rows that A and B have under one key with other values, and count them; none without keys."""
    match = " AND ".join(f"a.{key.at} IS NOT DISTINCT FROM b.{key.at}" for key in keys) or "false"
    both = ", ".join(f"a.{column.at} AS a_{column.at}, b.{column.at} AS b_{column.at}" for column in columns)
    sides = f"FROM odd AS a JOIN odd AS b ON {match} WHERE a.in_a > a.in_b AND b.in_b > b.in_a"
    db.execute(f"CREATE TEMP TABLE pairs AS SELECT {both}, least(a.t, b.t) AS t {sides}")
    return _numbers(db, "SELECT count(*) FROM pairs")[0]


def examples(db: DuckDBPyConnection, columns: Sequence[Column], keys: Sequence[Column], limit: int) -> dict[str, list[dict[str, Any]]]:
    """At most `limit` rows of each kind, in the order of their values, as JSON's types."""
    return {
        "only_a": _only(db, columns, keys, "in_a > in_b", "a", limit),
        "only_b": _only(db, columns, keys, "in_b > in_a", "b", limit),
        "changed": [_change(pair, columns, keys) for pair in _shown(db, "pairs", _both(columns), [f"a_{key.at}" for key in keys], limit)],
    }


def parting(db: DuckDBPyConnection, columns: Sequence[Column], keys: Sequence[Column], time: TimeColumn) -> Parting | None:
    """The first row by event time that the sides do not share; of several at that time a changed one, then A's, then B's."""
    moments = row(db, "SELECT min(t), (SELECT max(t) FROM rows WHERE t < (SELECT min(t) FROM odd)) FROM odd")
    if moments is None or moments[0] is None:
        return None
    at, until = int(moments[0]), moments[1]
    for pair in _shown(db, f"(SELECT * FROM pairs WHERE t = {at})", _both(columns), [f"a_{key.at}" for key in keys], 1):
        a, b = ({column.name: pair[f"{side}.{column.name}"] for column in columns} for side in "ab")
        return Parting(at, time.name, until, "changed", a, b)
    for surplus, side in (("in_a > in_b", "a"), ("in_b > in_a", "b")):
        for example in _only(db, columns, keys, f"{surplus} AND t = {at}", side, 1):
            return Parting(at, time.name, until, f"only_{side}", example if side == "a" else None, example if side == "b" else None)
    return None


def over_time(db: DuckDBPyConnection, time: TimeColumn, measures: Sequence[Column]) -> OutputOverTime | None:
    """Sums of `measures` (of rows, where there is none) per point of time, or per stretch of it when there are too many points."""
    sums = {column.name: f"sum({column.at}::DOUBLE)" for column in measures} or {"rows": "count(*)::DOUBLE"}
    totals = db.execute(
        f"""
        WITH extent AS (
            SELECT min(t) AS first, CASE WHEN count(DISTINCT t) <= {TIME_POINTS} THEN 1
                   ELSE (max(t) - min(t)) // {TIME_POINTS} + 1 END AS step
            FROM rows
        )
        SELECT (first + (t - first) // step * step)::DOUBLE AS point, is_b, {", ".join(sums.values())}
        FROM rows, extent WHERE t IS NOT NULL GROUP BY point, is_b ORDER BY point
        """
    ).fetchall()
    points = tuple(dict.fromkeys(row[0] for row in totals))
    return OutputOverTime(time.name, points, _lines(totals, False, points, list(sums)), _lines(totals, True, points, list(sums)))


def _lines(totals: Sequence[Any], is_b: bool, points: Sequence[float], names: Sequence[str]) -> dict[str, tuple[float | None, ...]]:
    at = {row[0]: row[2:] for row in totals if row[1] is is_b}
    nothing = (None,) * len(names)
    return {name: tuple(_finite(at.get(point, nothing)[i]) for point in points) for i, name in enumerate(names)}


def _only(
    db: DuckDBPyConnection, columns: Sequence[Column], keys: Sequence[Column], surplus: str, side: str, limit: int
) -> list[dict[str, Any]]:
    """Rows that one side has more often, without those that only changed."""
    match = " AND ".join(f"odd.{key.at} IS NOT DISTINCT FROM pairs.{side}_{key.at}" for key in keys) or "false"
    table = f"(SELECT * FROM odd WHERE {surplus} AND NOT EXISTS (SELECT 1 FROM pairs WHERE {match}))"
    return _shown(db, table, {column.name: column for column in columns}, [column.at for column in (*keys, *columns)], limit)


def _both(columns: Sequence[Column]) -> dict[str, Column]:
    return {f"{side}.{column.name}": replace(column, at=f"{side}_{column.at}") for column in columns for side in "ab"}


def _change(pair: Mapping[str, Any], columns: Sequence[Column], keys: Sequence[Column]) -> dict[str, Any]:
    """The key, and both values of each column that differs."""
    shown = {key.name: pair[f"a.{key.name}"] for key in keys}
    for column in columns:
        a, b = pair[f"a.{column.name}"], pair[f"b.{column.name}"]
        if a != b:
            shown |= {f"a.{column.name}": a, f"b.{column.name}": b}
    return shown


def _shown(db: DuckDBPyConnection, table: str, named: Mapping[str, Column], order: Sequence[str], limit: int) -> list[dict[str, Any]]:
    """Rows of `table` as JSON's types: DuckDB writes them as JSON, so times and bytes become texts; intervals are Spark's texts."""
    values = ", ".join(f"to_json({column.at})::VARCHAR" for column in named.values())
    by = f"ORDER BY {', '.join(order)}" if order else ""
    rows = db.execute(f"SELECT {values} FROM {table} {by} LIMIT {limit:d}").fetchall()
    return [{name: _value(column, value) for (name, column), value in zip(named.items(), row, strict=True)} for row in rows]


def _value(column: Column, text: str | None) -> Any:
    value = of_json(text)
    return value if column.interval is None else interval_columns.shown(value, column.interval)


def of_json(text: str | None) -> Any:
    """The value of a JSON text; numbers that a float does not hold, or JSON does not have (NaN, infinities), as text."""
    return None if text is None else read_exactly(text)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _listed(columns: Sequence[Column]) -> str:
    return ", ".join(column.at for column in columns)


def _numbers(db: DuckDBPyConnection, sql: str) -> tuple[int, ...]:
    return tuple(int(value) for value in row(db, sql) or ())
