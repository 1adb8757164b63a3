"""What Spark notes of the rows of a Parquet file in its metadata: their schema, where the file itself knows fewer types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pipelines.domain.errors import Corrupt
from pipelines.domain.json_text import read_json

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NOTE = "org.apache.spark.sql.parquet.row.metadata"
"""Its name among a file's key-value metadata."""


def by_file(db: DuckDBPyConnection, listed: str) -> dict[str, Mapping[str, Any]]:
    """File -> its columns with their types in Spark's JSON, for the files `listed` (a list in SQL); Corrupt (`compare.file_damaged`)."""
    rows = db.execute(f"SELECT file_name, value FROM parquet_kv_metadata({listed}) WHERE key = ?::BLOB", [NOTE]).fetchall()
    return {file: _types(file, note) for file, note in rows}


def distinct(db: DuckDBPyConnection, listed: str) -> list[Mapping[str, Any]]:
    """The same, once for all files that have the same columns."""
    sql = f"SELECT min(file_name), value FROM parquet_kv_metadata({listed}) WHERE key = ?::BLOB GROUP BY value ORDER BY 1"
    return [_types(file, note) for file, note in db.execute(sql, [NOTE]).fetchall()]


def _types(file: str, note: bytes) -> Mapping[str, Any]:
    try:
        return {field["name"]: field["type"] for field in read_json(note)["fields"]}
    except (KeyError, TypeError, ValueError) as error:
        message = f"A data file cannot be read: the schema that Spark left in {file} is damaged"
        raise Corrupt("compare.file_damaged", message, "Run the job again into a fresh output, or remove the file.") from error
