"""Columns with intervals in Parquet files. Spark writes them as numbers, of months or of microseconds, and only its own note in the file
says what they are; two intervals of one kind are equal where their numbers are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pipelines.catalog import spark_notes
from pipelines.domain import spark_intervals
from pipelines.domain.errors import Incompatible
from pipelines.domain.json_text import read_json

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAY_BE = re.compile(r"\b(BIGINT|INTEGER)\b")
_INTERVAL = re.compile(r"INTERVAL (YEAR|MONTH)?")
_WHOLE = (
    ("interval year to month", re.compile(r'"interval (year|month)[a-z ]*"')),
    ("interval day to second", re.compile(r'"interval [dhms][a-z ]*"')),
)
"""What has all fields of the intervals of one kind, and any of them in Spark's JSON."""


def may_be_among(types: Mapping[str, str]) -> bool:
    """Whether columns of these types (DuckDB's names) can hold intervals."""
    return any(_MAY_BE.search(kind) for kind in types.values())


def kinds(db: DuckDBPyConnection, listed: str) -> dict[str, Any]:
    """Columns that hold intervals -> their types in Spark's JSON, by the notes of the files `listed`; Incompatible (`compare.types`) where
    a column holds them in some files and something else in others."""
    noted = spark_notes.distinct(db, listed)
    found = {name: kind for note in noted for name, kind in note.items() if _of(label(kind))}
    for name, kind in found.items():
        for note in noted:
            if name in note and _of(label(note[name])) != _of(label(kind)):
                raise _refused(name, f"holds {label(note[name])} in some files of one output, and {label(kind)} in others")
    return found


def label(kind: Any) -> str:
    """A type in Spark's JSON as it is named to people, in the way of DuckDB's names."""
    if not isinstance(kind, Mapping):
        return str(kind).upper()
    if kind["type"] == "struct":
        fields = (f"{field['name']} {label(field['type'])}" for field in kind["fields"])
        return f"STRUCT({', '.join(fields)})"
    if kind["type"] == "array":
        return f"{label(kind['elementType'])}[]"
    if kind["type"] == "map":
        return f"MAP({label(kind['keyType'])}, {label(kind['valueType'])})"
    return str(kind["type"]).upper()


def check(a: Mapping[str, str], b: Mapping[str, str], names: Iterable[str]) -> None:
    """Raises Incompatible (`compare.types`) for columns of both sides whose numbers would be equal and mean something else."""
    for name in names:
        if _of(a[name]) != _of(b[name]):
            raise _refused(name, f"holds {a[name]} in A, and {b[name]} in B")


def of_both(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """The types by which values of both sides are shown: with all fields where the sides have others."""
    return {name: kind if a.get(name, kind) == b.get(name, kind) else _whole(kind) for name, kind in {**b, **a}.items()}


def _whole(kind: Any) -> Any:
    text = json.dumps(kind)
    for whole, some in _WHOLE:
        text = some.sub(json.dumps(whole), text)
    return read_json(text)


def shown(value: Any, kind: Any) -> Any:
    """A value of JSON's types, as it was read from a file, with its intervals as Spark writes them."""
    if value is None or not _of(label(kind)):
        return value
    if not isinstance(kind, Mapping):
        return spark_intervals.text(int(value), kind)
    if kind["type"] == "struct":
        return {field["name"]: shown(value.get(field["name"]), field["type"]) for field in kind["fields"]}
    if kind["type"] == "array":
        return [shown(element, kind["elementType"]) for element in value]
    return {str(shown(key, kind["keyType"])): shown(element, kind["valueType"]) for key, element in value.items()}


def _of(named: str) -> list[bool]:
    """Of each interval in a type, in order, whether it is one of months."""
    return [bool(found.group(1)) for found in _INTERVAL.finditer(named)]


def _refused(name: str, message: str) -> Incompatible:
    return Incompatible("compare.types", f"The column {name} {message}", "Give the columns the same types in both jobs.")
