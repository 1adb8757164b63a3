"""Numbers of JSON and CSV outputs that a DOUBLE does not hold, read as decimals: the digits stand in the text, and DuckDB's reader of JSON
has lost them. Where each number of a side is the shortest text of its DOUBLE, as Java writes those, DOUBLEs tell all of them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.catalog import json_files
from pipelines.catalog.output_files import Output, json_lines
from pipelines.catalog.partition_folders import partitions
from pipelines.catalog.sql import literal, quoted
from pipelines.catalog.tables import row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NUMBER = "NUMBER"
"""The type, as people are told, of a column whose numbers are compared as they are written."""
WRITTEN = (
    "Numbers of {name} have more digits than a decimal holds: they are compared as they are written, so that 1.0 and 1.00 are two numbers."
)
DIGITS = 38
"""Of a DECIMAL, at most."""
_KINDS = (
    "double",
    "float",
    "tinyint",
    "smallint",
    "integer",
    "bigint",
    "hugeint",
    "utinyint",
    "usmallint",
    "uinteger",
    "ubigint",
    "uhugeint",
)
_PLAIN = "^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True)
class Numbers:
    """What the numbers of a column need, on both sides."""

    before_point: int
    behind_point: int
    is_held: bool
    """Whether DOUBLEs hold them."""
    is_plain: bool
    """Whether none of them is NaN or infinite."""

    @property
    def decimal(self) -> str:
        """The type that holds them all; empty where there is none."""
        digits = self.before_point + self.behind_point
        return f"DECIMAL({digits}, {self.behind_point})" if self.is_plain and digits <= DIGITS else ""


def exact(db: DuckDBPyConnection, a: Output | None, b: Output | None, format: str) -> tuple[Output | None, Output | None, list[str]]:
    """Both sides with numbers that tell apart what the files do, and what is to be said of it."""
    sides = [side for side in (a, b) if side is not None]
    names = [
        name for name in dict.fromkeys(name for side in sides for name in side.columns) if any(_may_lose(side, name) for side in sides)
    ]
    if format == "parquet" or not names or not (format == "csv" or any(_has_long(db, side) for side in sides)):
        return a, b, []
    texts = [side and replace(side, relation=side.texts or _as_text(db, side, names, f"text_{at}")) for at, side in enumerate((a, b))]
    needed = {name: _needed(db, [side for side in texts if side is not None], name) for name in names}
    written = [name for name, numbers in needed.items() if not numbers.is_held and not numbers.decimal]
    read = [side and _typed(side, needed) for side in texts]
    return read[0], read[1], [WRITTEN.format(name=name) for name in written]


def _may_lose(side: Output, name: str) -> bool:
    return any(kind in side.columns.get(name, "") for kind in ("DOUBLE", "JSON"))


def _has_long(db: DuckDBPyConnection, side: Output) -> bool:
    """Whether the text of JSON has a number that is not the shortest one of its DOUBLE."""
    long = f"SELECT unnest(regexp_extract_all(json::VARCHAR, '{json_files.LONG}')) AS n FROM {json_lines(side.paths)}"
    return row(db, f"SELECT 1 FROM ({long}) WHERE NOT {_is_held('n')} LIMIT 1") is not None


def _is_held(number: str) -> str:
    """SQL: whether a text is the shortest of its DOUBLE, but for zeros. Both are the same number to 15 digits, so the digits tell."""
    digits = "trim(replace(regexp_extract({}, '[0-9.]+'), '.', ''), '0')"
    return f"coalesce({digits.format(number)} = {digits.format(f'try_cast({number} AS DOUBLE)::VARCHAR')}, true)"


def _as_text(db: DuckDBPyConnection, side: Output, names: Sequence[str], table: str) -> str:
    """Reads the side once, with the numbers in these columns as they are written, into `table`."""
    kinds = {name: _with_numbers(kind, "VARCHAR") if name in names else kind for name, kind in side.columns.items()}
    own, _ = partitions(side.paths)
    inside = {name: kind for name, kind in kinds.items() if name not in own}
    db.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM {json_files.relation(json_lines(side.paths), inside, own, has_text=True)}")
    return table


def _needed(db: DuckDBPyConnection, sides: Sequence[Output], name: str) -> Numbers:
    number = "trim(n, '-')"
    exponent = "coalesce(try_cast(regexp_extract(n, '[eE]([+-]?[0-9]+)$', 1) AS INTEGER), 0)"
    before, behind = (
        f"length({part})"
        for part in (f"ltrim(regexp_extract({number}, '^[0-9]+'), '0')", r"rtrim(regexp_extract(n, '[.]([0-9]+)', 1), '0')")
    )
    rows = " UNION ALL ".join(
        f"SELECT unnest({_numbers(side.columns[name], name)}) AS n FROM {side.relation}" for side in sides if name in side.columns
    )
    found = row(
        db,
        f"SELECT max({before} + {exponent}), max({behind} - {exponent}), bool_and({_is_held('n')}), "
        f"bool_and(regexp_matches(n, '{_PLAIN}')) FROM ({rows}) WHERE n IS NOT NULL",
    )
    if found is None or found[0] is None:
        return Numbers(1, 0, True, True)
    return Numbers(max(int(found[0]), 1), max(int(found[1]), 0), bool(found[2]), bool(found[3]))


def _numbers(kind: str, name: str) -> str:
    """SQL: the texts of a row's numbers in a column of that type, as a list."""
    return " || ".join(_texts(quoted(name), json_files.parsed(kind), 0)) or "[]::VARCHAR[]"


def _texts(sql: str, kind: Any, depth: int) -> Iterator[str]:
    if kind.id in _KINDS:
        yield f"[{sql}]"
    elif kind.id == "struct":
        for field, inner in kind.children:
            yield from _texts(f"struct_extract({sql}, {literal(field)})", inner, depth)
    elif kind.id in ("list", "map"):
        element = f"x{depth}"
        inner = " || ".join(_texts(element, kind.children[-1][1], depth + 1))
        if inner:
            values = f"map_values({sql})" if kind.id == "map" else sql
            yield f"coalesce(flatten(list_transform({values}, lambda {element}: {inner})), [])"


def _typed(side: Output, needed: dict[str, Numbers]) -> Output:
    """A side of texts with the types that its numbers need."""
    kinds, shown = dict(side.columns), dict(side.columns)
    for name, numbers in needed.items():
        if name in kinds and not numbers.is_held:
            kinds[name] = _with_numbers(side.columns[name], numbers.decimal or "VARCHAR")
            shown[name] = _with_numbers(side.columns[name], numbers.decimal or NUMBER)
    columns = ", ".join(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}" for name, kind in kinds.items())
    return replace(side, relation=f"(SELECT {columns} FROM {side.relation})", columns=shown)


def _with_numbers(kind: str, number: str) -> str:
    """The type with `number` in the place of each type of numbers."""
    return _named(json_files.parsed(kind), number)


def _named(kind: Any, number: str) -> str:
    if kind.id in _KINDS:
        return number
    if kind.id == "struct":
        return f"STRUCT({', '.join(f'{quoted(name)} {_named(inner, number)}' for name, inner in kind.children)})"
    if kind.id == "list":
        return f"{_named(kind.children[0][1], number)}[]"
    if kind.id == "map":
        return f"MAP({kind.children[0][1]}, {_named(kind.children[1][1], number)})"
    return str(kind)
