"""The data files of a job's output as a relation for DuckDB: exactly the files given, never a pattern."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from pipelines.catalog import csv_files, interval_columns, json_files, partition_folders, variant_columns
from pipelines.catalog.csv_loading import Files
from pipelines.catalog.partition_folders import partitions
from pipelines.catalog.sql import literal, quoted
from pipelines.domain import csv_options
from pipelines.domain.errors import Corrupt, TidemarkError, Unavailable, Unsupported
from pipelines.storage import file_rights, users
from pipelines.storage.addresses import STORE_ADDRESSES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FORMATS = ("parquet", "json", "csv")
Options: TypeAlias = Mapping[str, str] | None
"""As `QueryStarted.sink_options`."""
DENIED = os.strerror(errno.EACCES)
_GLOB = re.compile(r"([*?\[])")


@dataclass(frozen=True)
class Output:
    """One side's rows: what to write after FROM, and its columns with DuckDB's names of their types."""

    relation: str
    columns: Mapping[str, str]
    intervals: Mapping[str, Any] = field(default_factory=dict)
    """Columns that hold intervals, as numbers -> their types in Spark's JSON."""
    paths: tuple[str, ...] = ()
    """The files that it is read from."""
    texts: str = ""
    """What to write after FROM for the same rows with all values as the texts that a CSV file has."""

    def emptied(self) -> Output:
        """The same columns without a row."""
        return replace(self, relation=f"(SELECT * FROM {self.relation} LIMIT 0)")


def output(db: DuckDBPyConnection, files: Sequence[str], format: str, options: Options = None) -> Output | None:
    """The rows in `files` (paths, `file:` URLs, or URLs of S3 and HDFS, read piece by piece); None if there are none to read.

    Corrupt (`compare.file_missing`, `compare.file_damaged`), Unavailable (`compare.denied`), Incompatible (`compare.types`) or
    Unsupported (`compare.format`, `compare.remote`, `compare.variant`)."""
    ((side,), _) = sides(db, [files], format, [options])
    return side


def sides(
    db: DuckDBPyConnection, files: Sequence[Sequence[str]], format: str, options: Sequence[Options], foldered: Sequence[bool] = (True, True)
) -> tuple[list[Output | None], list[str]]:
    """The rows of each side as `output` has them, with types that fit the other's, and what is to be said of both. `options` are those of
    each side's sink; `foldered` says whether columns of it stand in the folders' names alone."""
    if format not in FORMATS:
        raise Unsupported(
            "compare.format",
            f"Outputs in the format {format!r} cannot be compared",
            f"Write the output as one of {', '.join(FORMATS)}.",
        )
    present = [_there(db, side, format) for side in files]
    if format == "csv":
        return _of_csv(db, present, options)
    return [_output(db, side, format, own) if side else None for side, own in zip(present, foldered, strict=False)], []


def let_read(*sides: Sequence[str]) -> None:
    """Lets the user that runs jobs' code read these files, as far as they are rows of the workspace's."""
    file_rights.let_read_rows(_place(file) for side in sides for file in side if not is_elsewhere(file))


def _there(db: DuckDBPyConnection, files: Sequence[str], format: str) -> list[str]:
    places = [_place(file) for file in files]
    return _present(places, format, _elsewhere(db, [place for place in places if is_elsewhere(place)]))


def _output(db: DuckDBPyConnection, present: Sequence[str], format: str, is_foldered: bool) -> Output:
    import duckdb

    try:
        plain = _of_json(db, present) if format == "json" else _described(db, _relation(present, format, is_foldered))
        if format != "parquet":
            return replace(plain, paths=tuple(present))
        if variant_columns.may_be_among(plain.columns):
            plain = _described(db, variant_columns.relation(db, listed(present), lambda files: _relation(files, format, is_foldered)))
        return _with_intervals(db, plain, present)
    except (duckdb.InvalidInputException, duckdb.IOException) as error:
        raise unreadable(error) from error


def json_lines(paths: Sequence[str]) -> str:
    """The table function over JSON files: `json`, and the columns of the folders."""
    return f"read_ndjson_objects({listed(paths)}, {partition_folders.options(paths)})"


def _of_csv(db: DuckDBPyConnection, present: Sequence[Sequence[str]], options: Sequence[Options]) -> tuple[list[Output | None], list[str]]:
    import duckdb

    dialects = [None if own is None else csv_options.dialect(own) for own in options]
    there = [(paths, dialect) for paths, dialect in zip(present, dialects, strict=True) if paths]
    files = [Files(listed(paths), paths[0], *partitions(paths), dialect) for paths, dialect in there]
    if not files:
        return [None for _ in present], []
    try:
        read, notes = csv_files.read(db, files)
    except (duckdb.InvalidInputException, duckdb.IOException) as error:
        raise unreadable(error) from error
    outputs = iter(Output(side.relation, side.columns, texts=side.texts) for side in read)
    return [next(outputs) if paths else None for paths in present], notes


def _of_json(db: DuckDBPyConnection, paths: Sequence[str]) -> Output:
    own, _ = partitions(paths)
    sampled = _relation(paths[: json_files.SAMPLED], "json")
    columns = json_files.columns(db, json_lines(paths), sampled)
    if not columns:
        return _described(db, sampled)
    return _described(db, json_files.relation(json_lines(paths), columns, own))


def _described(db: DuckDBPyConnection, relation: str) -> Output:
    return Output(relation, {row[0]: row[1] for row in db.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()})


def _with_intervals(db: DuckDBPyConnection, out: Output, paths: Sequence[str]) -> Output:
    kinds = interval_columns.kinds(db, listed(paths)) if interval_columns.may_be_among(out.columns) else {}
    kinds = {name: kind for name, kind in kinds.items() if name in out.columns}
    return replace(out, columns={**out.columns, **{name: interval_columns.label(kind) for name, kind in kinds.items()}}, intervals=kinds)


def unreadable(error: Exception) -> TidemarkError:
    """The error of a data file that its format, or the user of jobs' code, cannot read; DuckDB's message names the file."""
    message = str(error).split("\n\n")[0]
    if DENIED in message:
        return denied(message)
    return Corrupt(
        "compare.file_damaged", f"A data file cannot be read: {message}", "Run the job again into a fresh output, or remove the file."
    )


def denied(message: str) -> Unavailable:
    """The error of a data file that the user of jobs' code may not read."""
    who = f"A data file cannot be read as the user {users.name()}"
    return Unavailable("compare.denied", f"{who}: {message}", "Let that user read the output.")


def is_elsewhere(file: str) -> bool:
    """Whether it lies at a URL of a storage that outputs are read from."""
    return file.startswith(STORE_ADDRESSES)


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
    try:
        seen = os.stat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise Unavailable(
            "compare.denied", f"{place} cannot be read as the user {users.name()}", "Let that user read the output."
        ) from error
    return seen.st_size if stat.S_ISREG(seen.st_mode) else None


def _relation(paths: Sequence[str], format: str, is_foldered: bool = True) -> str:
    """The table function over `paths`, without partition columns from the folders above the output."""
    files = listed(paths)
    own, lent = partitions(paths) if is_foldered else ([], [])
    options = f"union_by_name = true, {partition_folders.options(paths) if own else 'hive_partitioning = false'}"
    if format == "json":
        options += ", format = 'newline_delimited'"
    if not own or not lent:
        return f"read_{format}({files}, {options})"
    return f"(SELECT * EXCLUDE ({', '.join(quoted(name) for name in lent)}) FROM read_{format}({files}, {options}))"


def listed(paths: Sequence[str]) -> str:
    """The files as a list in SQL, each exactly itself."""
    return "[" + ", ".join(literal(_GLOB.sub(r"[\1]", path)) for path in paths) + "]"
