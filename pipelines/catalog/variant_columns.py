"""VARIANT columns in Parquet files. Spark 4.1 and later mark them, so DuckDB reads values; Spark 4.0 writes two binaries each, and only its
own note in the file tells them from a struct. The same value has many such binaries, so they are not compared as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.catalog import spark_notes
from pipelines.catalog.sql import quoted
from pipelines.domain.errors import Unsupported

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VARIANT = "VARIANT"
BINARIES = 'STRUCT("value" BLOB, metadata BLOB)'
NULL = r"'\x00'::BLOB"
_MAY_BE = re.compile(r"VARIANT|metadata BLOB")
_OF_SPARK = '"variant"'


def may_be_among(types: Mapping[str, str]) -> bool:
    """Whether columns of these types (DuckDB's names) can be VARIANT, or hold such values."""
    return any(_MAY_BE.search(kind) for kind in types.values())


def relation(db: DuckDBPyConnection, listed: str, of: Callable[[Sequence[str]], str]) -> str:
    """What to write after FROM for the files `listed` (a list in SQL), with VARIANT columns as such; `of` is that for files as they are.

    Raises Unsupported (`compare.variant`) where Spark 4.0 has written such values inside of others, or shredded, and Corrupt
    (`compare.file_damaged`)."""
    alike: dict[tuple[str, ...], list[str]] = {}
    notes, schemas = spark_notes.by_file(db, listed), _schemas(db, listed)
    for file, columns in schemas.items():
        alike.setdefault(tuple(_unmarked(columns, notes.get(file, {}))), []).append(file)
    return f"({' UNION ALL BY NAME '.join(_selected(names, of(files)) for names, files in alike.items())})"


def _selected(names: Sequence[str], relation: str) -> str:
    if not names:
        return f"SELECT * FROM {relation}"
    return f"SELECT * REPLACE ({', '.join(map(_value, names))}) FROM {relation}"


def _value(name: str) -> str:
    """A null of JSON becomes none, as DuckDB reads it in columns that are marked."""
    metadata, value = (f"struct_extract({quoted(name)}, '{part}')" for part in ("metadata", "value"))
    return f"CASE WHEN {value} <> {NULL} THEN variant_bytes_to_variant({metadata} || {value}) END AS {quoted(name)}"


def _unmarked(columns: Mapping[str, str], note: Mapping[str, Any]) -> Iterator[str]:
    """The columns of a file that are VARIANT by Spark's note alone."""
    for name, noted in note.items():
        kind = json.dumps(noted)
        type = columns.get(name, VARIANT)
        if _OF_SPARK not in kind or VARIANT in type or not _MAY_BE.search(type):
            continue
        if kind != _OF_SPARK or type != BINARIES:
            raise Unsupported(
                "compare.variant",
                f"The column {name} has VARIANT values as Spark 4.0 writes them {'shredded' if kind == _OF_SPARK else 'inside of others'}: "
                "its files do not say which values are equal",
                "Run the job on Spark 4.1 or newer, or write to_json of these values.",
            )
        yield name


def _schemas(db: DuckDBPyConnection, listed: str) -> dict[str, dict[str, str]]:
    """File -> its columns with DuckDB's names of their types."""
    schemas: dict[str, dict[str, str]] = {}
    inside = 0
    for file, name, kind, children in db.execute(
        f"SELECT file_name, name, duckdb_type, num_children FROM parquet_schema({listed})"
    ).fetchall():
        if file not in schemas:
            schemas[file], inside = {}, 0
            continue
        if inside:
            inside -= 1
        else:
            schemas[file][name] = kind
        inside += children or 0
    return schemas
