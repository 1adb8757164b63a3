"""JSON outputs, read line by line: DuckDB's own reader takes 32 MB for each file, and by a sample of rows it leaves out columns that come
later, and rounds numbers. Here all rows say which columns there are, and whether their numbers are whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.catalog.sql import literal, quoted
from pipelines.domain.json_text import read_json

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LONG = "[0-9.eE+-]{16,}"
_BEFORE = r'((?:"(?:[^"\\]|\\.)*"|[^"0-9.eE+-]|[0-9.eE+-]{1,15}[,\]}\s])*)'
"""All that stands before a long number in a line: texts as a whole, what belongs to no number, and short numbers."""
_MOMENT = "TIMESTAMP"
"""How DuckDB's names begin of what it sees in texts, by a sample, and what is kept of that: a date would be cut from a later text."""
_NANOS = ":[0-9]{2}[.][0-9]{7}"
"""Digits that no TIMESTAMP holds."""
_WHOLE = ("UBIGINT", "BIGINT", "HUGEINT")
_HUGE = "[0-9]{20}|9[2-9][0-9]{17}"
"""Digits of what may be a number beyond BIGINT."""
SAMPLED = 16
"""Files."""


def columns(db: DuckDBPyConnection, objects: str, sampled: str) -> dict[str, str]:
    """The columns of `objects` (a relation with `json`) with DuckDB's names of their types; `sampled` is a relation of DuckDB's own reader
    over some of the same files. Raises what DuckDB raises."""
    guessed = {name: kind for name, kind, *_ in db.execute(f"DESCRIBE SELECT * FROM {sampled}").fetchall()}
    fields: Any = "NULL"
    seen = ", ".join(f"bool_or(regexp_matches(json::VARCHAR, '{pattern}'))" for pattern in (_HUGE, _NANOS))
    structures = db.execute(f"SELECT json_structure(json), {seen} FROM {objects} GROUP BY 1 ORDER BY 1").fetchall()
    for structure, *_ in structures:
        fields = _merged(fields, read_json(structure))
    if not isinstance(fields, dict):
        return {}
    whole = "HUGEINT" if any(is_huge for _, is_huge, _ in structures) else "BIGINT"
    kinds = {} if any(has_nanos for *_, has_nanos in structures) else guessed
    return {name: _typed(kind, parsed(kinds.get(name, "JSON")), whole) for name, kind in fields.items()}


def relation(objects: str, columns: Mapping[str, str], above: Sequence[str], *, has_text: bool = False) -> str:
    """What to write after FROM: `columns` of each line, and those of the folders `above`. With `has_text` long numbers are texts."""
    line = f"regexp_replace(json::VARCHAR, {literal(f'{_BEFORE}({LONG})')}, '\\1\"\\2\"', 'g')::JSON" if has_text else "json"
    structure = literal(json.dumps({name: _structure(parsed(kind)) for name, kind in columns.items()}))
    folders = "".join(f", {quoted(name)}" for name in above if name not in columns)
    taken = ", ".join(f"CAST(struct_extract(line, {literal(name)}) AS {kind}) AS {quoted(name)}" for name, kind in columns.items())
    return f"(SELECT {taken}{folders} FROM (SELECT json_transform({line}, {structure}) AS line{folders} FROM {objects}))"


def _merged(one: Any, other: Any) -> Any:
    """What is of both of these structures, as `json_structure` has them."""
    if one == other or other == "NULL":
        return one
    if one == "NULL":
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _merged(one.get(name, "NULL"), other.get(name, "NULL")) for name in (one | other)}
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0])]
    numbers = {str(one), str(other)} <= {*_WHOLE, "DOUBLE"}
    return ("DOUBLE" if "DOUBLE" in (one, other) else "HUGEINT") if numbers else "JSON"


def _structure(kind: Any) -> Any:
    """As `json_transform` takes it, which leaves what it cannot cast without a value: texts are cast afterwards."""
    if kind.id == "struct":
        return {name: _structure(inner) for name, inner in kind.children}
    if kind.id == "list":
        return [_structure(kind.children[0][1])]
    return "VARCHAR" if str(kind).startswith(_MOMENT) else str(kind)


def _typed(structure: Any, guessed: Any, whole: str) -> str:
    if isinstance(structure, dict):
        inner = dict(guessed.children) if guessed.id == "struct" else {}
        fields = (f"{quoted(name)} {_typed(kind, inner.get(name, parsed('JSON')), whole)}" for name, kind in structure.items())
        return f"STRUCT({', '.join(fields)})"
    if isinstance(structure, list):
        return f"{_typed(structure[0], guessed.children[0][1] if guessed.id == 'list' else parsed('JSON'), whole)}[]"
    if structure == "VARCHAR" and str(guessed).startswith(_MOMENT):
        return str(guessed)
    return whole if structure in _WHOLE else "JSON" if structure == "NULL" else str(structure)


def parsed(kind: str) -> Any:
    """A type by DuckDB's name of it, as DuckDB's own object."""
    import duckdb

    return duckdb.sqltype(kind)
