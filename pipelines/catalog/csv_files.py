"""CSV outputs, whose files say of no text what it is: all rows are read once, as texts, and what all of them hold says the types. A value
counts as a number only where it is written as Spark does, as a time where it is written so or by the job's own pattern; what is not stays
the text that it is. Where the options of a side's sink are not known, the files say how they are written, as far as they do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.catalog import csv_loading, csv_times
from pipelines.catalog.csv_loading import FILE, OPTIONS, Files
from pipelines.catalog.sql import quoted
from pipelines.catalog.tables import row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHOLE, REAL, TEXT, DATE = "BIGINT", "DOUBLE", "VARCHAR", "DATE"
MOMENTS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP")
_NUMBER = r"-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?|NaN|-?Infinity"
_AT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6}0*)?"
"""With no digit that a TIMESTAMP does not hold, and no time that has another writing."""
_WRITTEN = {
    WHOLE: "0|-?[1-9][0-9]*",
    REAL: _NUMBER,
    DATE: "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    MOMENTS[0]: f"{_AT}(Z|[+-][0-9]{{2}}:[0-9]{{2}})",
    MOMENTS[1]: _AT,
}
"""Type -> how Spark writes its values; the first that fits counts."""
_NAME = re.compile(r"[^\W\d][\w .:()/-]*")
_SAMPLED = 2_000
"""Rows that say which types a column can have."""
NAMED = "The first line of each file is taken for the names of the columns ({names})."
OTHER_KIND = "Of other type: {name} ({a} in A, {b} in B): compared as texts."
WRITTEN_APART = "Times of {name} are not all written in one way: they are compared as the moments that they are."

BACKSLASHES = "Single backslashes in quoted texts are not compared: such files do not tell them from those before a quotation mark."


@dataclass(frozen=True)
class Side:
    """The rows of a side as texts: what to write after FROM, and the types of its columns by DuckDB's names."""

    texts: str
    columns: Mapping[str, str]

    @property
    def relation(self) -> str:
        """What to write after FROM for its rows with values of these types."""
        taken = ", ".join(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}" for name, kind in self.columns.items())
        return f"(SELECT {taken} FROM {self.texts})"


def read(db: DuckDBPyConnection, sides: Sequence[Files]) -> tuple[list[Side], list[str]]:
    """The rows of all sides, a column of both with one type where that is possible, and what is to be said of it. Raises what DuckDB
    raises."""
    import duckdb

    try:
        return _read(db, sides, OPTIONS)
    except duckdb.InvalidInputException:  # the ends of lines within a text may be others than those of the file
        return _read(db, sides, f"{OPTIONS}, new_line = '\\n'")


def _read(db: DuckDBPyConnection, sides: Sequence[Files], given: str) -> tuple[list[Side], list[str]]:
    (before,) = row(db, "SELECT count(*) FROM duckdb_tables()") or (0,)
    guessed = csv_loading.guessed(db, next((files for files in sides if files.dialect is None), None), given)
    raw = [csv_loading.loaded(db, f"csv_{before + at}", files, given, guessed) for at, files in enumerate(sides)]
    unknown = [side for side in raw if side.files.dialect is None]
    is_header, notes = _header(db, unknown) if unknown else (False, [])
    texts = [_named(db, side, side.files.dialect.has_header if side.files.dialect else is_header) for side in raw]
    texts, kinds, told = csv_times.read(db, texts, [_kinds(db, text) for text in texts], [files.dialect for files in sides])
    agreed = [{name: _agreed(name, own, kinds) for name in own} for own in kinds]
    notes += [*told.values(), *_told(kinds, agreed)]
    others = [name for name in agreed[0] if name not in told]
    notes += [WRITTEN_APART.format(name=name) for name in others if _is_written_apart(db, texts, agreed, name)]
    notes += [BACKSLASHES] if any(csv_loading.loses_backslashes(db, side) for side in raw) else []
    return [Side(text, columns) for text, columns in zip(texts, agreed, strict=True)], notes


def _header(db: DuckDBPyConnection, sides: Sequence[csv_loading.Raw]) -> tuple[bool, list[str]]:
    """Whether the first line of each file has the names of the columns: all of it must be names, and either another row has a number or a
    time there, or all files, more than one, begin with the same line. And what is to be said of it, where that does not make it sure."""
    lines = dict.fromkeys(head for side in sides for head in side.heads)
    are_same = len(lines) == 1 and sum(len(side.heads) for side in sides) > 1
    if not all(map(_are_names, lines)):
        return False, []
    has_types = any(_has_types(db, side) for side in sides)
    names = ", ".join(dict.fromkeys(name for line in lines for name in line if name is not None))
    return has_types or are_same, [NAMED.format(names=names)] if has_types is not are_same else []


def _are_names(line: tuple[str | None, ...]) -> bool:
    """Lines of other files may have more of them."""
    names = [name for name in line if name is not None]
    return len(set(names)) == len(names) > 0 and None not in line[: len(names)] and all(map(_NAME.fullmatch, names))


def _has_types(db: DuckDBPyConnection, side: csv_loading.Raw) -> bool:
    rows = f"SELECT * FROM {side.table} WHERE rowid NOT IN (SELECT min(rowid) FROM {side.table} GROUP BY {FILE}) LIMIT {_SAMPLED}"
    return any(kind not in (TEXT, None) for kind in _seen(db, f"({rows})", side.columns).values())


def _named(db: DuckDBPyConnection, side: csv_loading.Raw, is_header: bool) -> str:
    """What to write after FROM for a side's rows. Columns that have no names are numbered in one way, however many they are."""
    own = [quoted(name) for name in side.files.own]
    if is_header and len(set(side.heads)) > 1:
        lent = f" EXCLUDE ({csv_loading.listed(side.files.lent)})" if side.files.own and side.files.lent else ""
        rows = csv_loading.rows(side.files, f"{side.options}, header = true")
        db.execute(f"CREATE OR REPLACE TEMP TABLE {side.table} AS SELECT *{lent} FROM {rows}")
        return side.table
    if is_header:
        db.execute(f"DELETE FROM {side.table} WHERE rowid IN (SELECT min(rowid) FROM {side.table} GROUP BY {FILE})")
    names = side.heads[0] if is_header else [None] * len(side.columns)
    taken = [f"{quoted(column)} AS {quoted(names[at] or f'column{at}')}" for at, column in enumerate(side.columns)]
    return f"(SELECT {', '.join([*taken, *own])} FROM {side.table})"


def _kinds(db: DuckDBPyConnection, texts: str) -> dict[str, str | None]:
    """Column -> the type that all of its texts are written as; None where there is no text."""
    columns = csv_loading.columns(db, texts)
    kinds = _seen(db, f"(SELECT * FROM {texts} LIMIT {_SAMPLED})", columns)
    for name in [name for name, kind in kinds.items() if kind is None]:
        kinds |= _seen(db, f"(SELECT {quoted(name)} FROM {texts} WHERE {quoted(name)} IS NOT NULL LIMIT {_SAMPLED})", [name])
    doubtful = {name: kind for name, kind in kinds.items() if kind not in (TEXT, None)}
    while doubtful:
        whole = row(db, f"SELECT {', '.join(_are(name, kind) for name, kind in doubtful.items())} FROM {texts}") or ()
        failed = [name for name, is_so in zip(doubtful, whole, strict=True) if not is_so]
        kinds |= {name: REAL if doubtful[name] == WHOLE else TEXT for name in failed}
        doubtful = {name: REAL for name in failed if doubtful[name] == WHOLE}
    return kinds


def _seen(db: DuckDBPyConnection, sample: str, columns: Sequence[str]) -> dict[str, str | None]:
    """Column -> the type that the texts of a sample are written as; None where there is no text."""
    kinds: dict[str, str | None] = {}
    for name in columns:
        checks = ", ".join(_are(name, kind) for kind in _WRITTEN)
        some, *fit = row(db, f"SELECT count({quoted(name)}) > 0, {checks} FROM {sample}") or ()
        kinds[name] = next((kind for kind, is_so in zip(_WRITTEN, fit, strict=True) if is_so), TEXT) if some else None
    return kinds


def _are(name: str, kind: str) -> str:
    """SQL: whether all texts of the column are values of that type, and are written as Spark does."""
    text, value = quoted(name), f"try_cast({quoted(name)} AS {kind})"
    if kind in (WHOLE, DATE):
        return f"coalesce(bool_and({value}::VARCHAR IS NOT DISTINCT FROM {text}), true)"
    return f"coalesce(bool_and({text} IS NULL OR (regexp_full_match({text}, '{_WRITTEN[kind]}') AND {value} IS NOT NULL)), true)"


def _agreed(name: str, own: Mapping[str, str | None], sides: Sequence[Mapping[str, str | None]]) -> str:
    """The type of a column of one side, next to the other: a time that is a text or a number there is a text, and so is a number."""
    kinds = {kind for side in sides if (kind := side.get(name)) is not None} or {TEXT}
    if kinds <= {WHOLE, REAL} or kinds <= {DATE, *MOMENTS}:
        return own[name] or next(iter(sorted(kinds)))
    return TEXT


def _told(kinds: Sequence[Mapping[str, str | None]], agreed: Sequence[Mapping[str, str]]) -> list[str]:
    a, b = kinds[0], kinds[-1]
    apart = [name for name in a if a[name] is not None and b.get(name) is not None and a[name] != b[name] and agreed[0][name] == TEXT]
    return [OTHER_KIND.format(name=name, a=a[name], b=b[name]) for name in apart]


def _is_written_apart(db: DuckDBPyConnection, texts: Sequence[str], agreed: Sequence[Mapping[str, str]], name: str) -> bool:
    """Whether a moment of this column stands there in two ways, so that other texts are one value."""
    if not all(side.get(name) in MOMENTS for side in agreed):
        return False
    text = quoted(name)
    form = f"substr({text}, 11, 1) || length({text}) || ltrim(substr({text}, 20), '.0123456789')"
    rows = " UNION ALL ".join(f"SELECT {text} FROM {side}" for side in texts)
    if row(db, f"SELECT min({form}) IS NOT DISTINCT FROM max({form}) FROM ({rows})") == (True,):
        return False
    moments = f"SELECT DISTINCT {text}, {text}::{MOMENTS[0]} AS moment FROM ({rows})"
    return row(db, f"SELECT 1 FROM ({moments}) GROUP BY moment HAVING count(*) > 1 LIMIT 1") is not None
