"""The rows of CSV files as texts, read as Spark wrote them: by the options of the job's sink where these are known.

Spark writes quotation marks and backslashes of a quoted text with a backslash before each, unless it is told otherwise. A file may have
neither, so that nothing in it says how others are written: what DuckDB finds out by itself goes by the first of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.catalog.sql import literal, quoted
from pipelines.catalog.tables import row
from pipelines.domain.csv_options import Dialect

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OPTIONS = "all_varchar = true, union_by_name = true, allow_quoted_nulls = false, skip = 0"
FILE = "__file"
_LINES = "columns = {'line': 'VARCHAR'}, delim = chr(1), quote = '', escape = '', header = false, strict_mode = false"
_QUOTED = r'"(?:[^"\\]|\\["\\])*'
"""The beginning of a quoted text, each backslash of which is written twice, and one before each quotation mark."""


@dataclass(frozen=True)
class Files:
    """The files of a side, as a list in SQL, with the columns of their folders: the output's own, and those of the folders above it."""

    listed: str
    first: str
    """The path of one of them."""
    own: Sequence[str]
    lent: Sequence[str]
    dialect: Dialect | None = None
    """How they are written; None where that is not known."""


@dataclass(frozen=True)
class Raw:
    """The rows of a side with those that may be names: a table, its columns that come from the lines, and the first line of each file."""

    table: str
    files: Files
    options: str
    """Those of `read_csv`."""
    columns: Sequence[str]
    heads: Sequence[tuple[str | None, ...]]
    dialect: Dialect


def guessed(db: DuckDBPyConnection, files: Files | None, given: str) -> list[Dialect]:
    """How files may be written of which nothing is known, as Spark does without options first."""
    if files is None:
        return []
    (delimiter,) = row(db, f"SELECT Delimiter FROM sniff_csv({literal(files.first)}, {given}, quote = '\"', header = false)") or (",",)
    return [Dialect(delimiter, escape=escape) for escape in ("\\", '"')]


def rows(files: Files, options: str) -> str:
    return f"read_csv({files.listed}, {options}, hive_partitioning = {bool(files.own)}, hive_types_autocast = false)"


def loaded(db: DuckDBPyConnection, table: str, files: Files, given: str, guessed: Sequence[Dialect]) -> Raw:
    """Reads the rows as the files' dialect has them, or the first of the guessed ones by which nothing is lost."""
    if files.dialect is not None:
        return _loaded_as(db, table, files, given, files.dialect)
    import duckdb

    first, second = guessed
    try:
        raw = _loaded_as(db, table, files, given, first)
    except duckdb.InvalidInputException:
        return _loaded_as(db, table, files, given, second)
    if not loses_backslashes(db, raw):
        return raw
    try:
        return _loaded_as(db, table, files, given, second)
    except duckdb.InvalidInputException:
        return _loaded_as(db, table, files, given, first)


def _loaded_as(db: DuckDBPyConnection, table: str, files: Files, given: str, dialect: Dialect) -> Raw:
    named = {"delim": dialect.delimiter, "quote": dialect.quote, "escape": dialect.escape, "nullstr": dialect.null}
    options = ", ".join([given, *(f"{name} = {literal(value)}" for name, value in named.items())])
    lines = rows(files, f"{options}, header = false")
    db.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT *, file_index AS {FILE} FROM {lines}")
    inside = [name for name in columns(db, table) if name not in (*files.own, *files.lent, FILE)]
    first = f"SELECT {listed(inside)} FROM {table} WHERE rowid IN (SELECT min(rowid) FROM {table} GROUP BY {FILE})"
    return Raw(table, files, options, inside, db.execute(first).fetchall(), dialect)


def loses_backslashes(db: DuckDBPyConnection, side: Raw) -> bool:
    """Whether quoted texts have single backslashes, which are lost where a backslash also stands before a quotation mark."""
    escape, delimiter = side.dialect.escape, side.dialect.delimiter
    if escape != "\\" or (side.files.dialect is not None and side.dialect.can_be_told):
        return False
    start = "(^|" + re.escape(delimiter) + ")"
    lost = literal(rf'{start}{_QUOTED}\\[^\\"]')
    return row(db, f"SELECT 1 FROM read_csv({side.files.listed}, {_LINES}) WHERE regexp_matches(line, {lost}) LIMIT 1") is not None


def columns(db: DuckDBPyConnection, relation: str) -> list[str]:
    return [name for name, *_ in db.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()]


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
