"""The data files of a job's output as a relation for DuckDB: exactly the files given, never a pattern."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pipelines.catalog import interval_columns, variant_columns
from pipelines.catalog.sql import literal, quoted
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.storage.addresses import HDFS_ADDRESSES, S3_ADDRESSES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FORMATS = ("parquet", "json", "csv")
LONG = 18
"""Digits that no DOUBLE needs: such a number is a decimal, or an integer beyond BIGINT."""
_NUMBER = r"-?[0-9]+\.[0-9]+|[0-9]{20,}"
_GLOB = re.compile(r"([*?\[])")


@dataclass(frozen=True)
class Output:
    """One side's rows: what to write after FROM, and its columns with DuckDB's names of their types."""

    relation: str
    columns: Mapping[str, str]
    intervals: Mapping[str, Any] = field(default_factory=dict)
    """Columns that hold intervals, as numbers -> their types in Spark's JSON."""

    def emptied(self) -> Output:
        """The same columns without a row."""
        return replace(self, relation=f"(SELECT * FROM {self.relation} LIMIT 0)")


def output(db: DuckDBPyConnection, files: Sequence[str], format: str) -> Output | None:
    """The rows in `files` (paths, `file:` URLs, or URLs of S3 and HDFS, read piece by piece); None if there are none to read.

    Corrupt (`compare.file_missing`, `compare.file_damaged`), Incompatible (`compare.types`) or Unsupported (`compare.format`,
    `compare.remote`, `compare.variant`)."""
    import duckdb

    if format not in FORMATS:
        raise Unsupported(
            "compare.format",
            f"Outputs in the format {format!r} cannot be compared",
            f"Write the output as one of {', '.join(FORMATS)}.",
        )
    places = [_place(file) for file in files]
    elsewhere = _elsewhere(db, [place for place in places if is_elsewhere(place)])
    present = _present(places, format, elsewhere)
    if not present:
        return None
    try:
        plain = _described(db, _relation(present, format))
        if format != "parquet":
            return plain
        if variant_columns.may_be_among(plain.columns):
            plain = _described(db, variant_columns.relation(db, _listed(present), lambda files: _relation(files, format)))
        return _with_intervals(db, plain, present)
    except (duckdb.InvalidInputException, duckdb.IOException) as error:
        raise unreadable(error) from error


def has_long_numbers(db: DuckDBPyConnection, out: Output, files: Sequence[str], format: str) -> bool:
    """Whether the text of JSON or CSV files has numbers of more digits than the DOUBLE as which they are read."""
    if format == "parquet" or not any("DOUBLE" in kind for kind in out.columns.values()):
        return False
    listed = _listed([_place(file) for file in files])
    as_text = "columns = {'line': 'VARCHAR'}, delim = chr(1), quote = '', escape = '', header = false"
    lines = f"read_csv({listed}, {as_text})" if format == "csv" else f"(SELECT json::VARCHAR AS line FROM read_ndjson_objects({listed}))"
    numbers = rf"list_filter(regexp_extract_all(line, '{_NUMBER}'), lambda x: length(trim(replace(x, '.', ''), '-0')) >= {LONG})"
    return db.execute(f"SELECT 1 FROM {lines} WHERE len({numbers}) > 0 LIMIT 1").fetchone() is not None


def _described(db: DuckDBPyConnection, relation: str) -> Output:
    return Output(relation, {row[0]: row[1] for row in db.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()})


def _with_intervals(db: DuckDBPyConnection, out: Output, paths: Sequence[str]) -> Output:
    kinds = interval_columns.kinds(db, _listed(paths)) if interval_columns.may_be_among(out.columns) else {}
    kinds = {name: kind for name, kind in kinds.items() if name in out.columns}
    return replace(out, columns={**out.columns, **{name: interval_columns.label(kind) for name, kind in kinds.items()}}, intervals=kinds)


def unreadable(error: Exception) -> Corrupt:
    """The error of a data file that its format cannot read; DuckDB's message names the file."""
    message = str(error).split("\n\n")[0]
    return Corrupt(
        "compare.file_damaged", f"A data file cannot be read: {message}", "Run the job again into a fresh output, or remove the file."
    )


def is_elsewhere(file: str) -> bool:
    """Whether it lies at a URL of a storage that outputs are read from."""
    return file.startswith((*S3_ADDRESSES, *HDFS_ADDRESSES))


def remote(file: str) -> Unsupported:
    return Unsupported(
        "compare.remote", f"{file} is not on this machine", "Copy both outputs to local folders, or compare them with Spark."
    )


def _place(file: str) -> str:
    """The path that `file` means on this machine, or its URL with the name as it is; what Spark wrote of both is quoted."""
    parts = urlsplit(file)
    if parts.scheme == "file":
        return unquote(parts.path)
    if is_elsewhere(file):
        return unquote(file)
    if "://" in file:
        raise remote(file)
    return file


def _elsewhere(db: DuckDBPyConnection, urls: Sequence[str]) -> Mapping[str, int]:
    """Bytes of those that are there, which DuckDB can read from here on."""
    if not urls:
        return {}
    from pipelines.storage.queried import NAME, QueriedFiles, sizes

    if not db.filesystem_is_registered(NAME):
        db.register_filesystem(QueriedFiles())
    return sizes(urls)


def _present(places: Sequence[str], format: str, elsewhere: Mapping[str, int]) -> list[str]:
    """`places`, all of which must exist, without empty text files (a task of Spark's that had no rows)."""
    there = {place: _size(place, elsewhere) for place in places}
    missing = [place for place, size in there.items() if size is None]
    if missing:
        raise Corrupt(
            "compare.file_missing",
            f"The output lists {len(missing)} of {len(places)} data files that are gone, the first {missing[0]}",
            "Something deleted data of this output; run the job again into a fresh one.",
        )
    return [place for place, size in there.items() if format == "parquet" or size]


def _size(place: str, elsewhere: Mapping[str, int]) -> int | None:
    """In bytes; None where there is no such file."""
    if is_elsewhere(place):
        return elsewhere.get(place)
    return os.path.getsize(place) if os.path.isfile(place) else None


def _relation(paths: Sequence[str], format: str) -> str:
    """The table function over `paths`, without partition columns from the folders above the output."""
    listed = _listed(paths)
    own, lent = _partitions(paths)
    options = f"union_by_name = true, hive_partitioning = {bool(own)}"
    if format == "json":
        options += ", format = 'newline_delimited'"
    if not own or not lent:
        return f"read_{format}({listed}, {options})"
    return f"(SELECT * EXCLUDE ({', '.join(quoted(name) for name in lent)}) FROM read_{format}({listed}, {options}))"


def _listed(paths: Sequence[str]) -> str:
    """The files as a list in SQL, each exactly itself."""
    return "[" + ", ".join(literal(_GLOB.sub(r"[\1]", path)) for path in paths) + "]"


def _partitions(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of the partition columns in the folders (`kind=organic/`): the output's own, and those of the folders above it.

    The output's root is taken to be the deepest folder over all files that is not itself a partition.
    """
    folders = [os.path.dirname(path) for path in paths]
    root = os.path.commonpath(folders)
    while "=" in os.path.basename(root):
        root = os.path.dirname(root)
    own = _names(os.path.relpath(folders[0], root))
    return own, [name for name in _names(root) if name not in own]


def _names(folder: str) -> list[str]:
    return [unquote(part.split("=")[0]) for part in folder.split(os.sep) if "=" in part]
