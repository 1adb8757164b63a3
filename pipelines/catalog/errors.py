"""DuckDB's errors as Tidemark's: who holds the file, what is damaged, what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipelines.domain.errors import Corrupt, TidemarkError, Unavailable, Unsupported

if TYPE_CHECKING:
    import duckdb

REBUILD = "Stop the server and run `catalog rebuild`: it makes the index anew from the workspace's files; nothing else is touched."
_HOLDER = re.compile(r"\(PID (\d+)\)")


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raises DuckDB's errors about the file `where` as Tidemark's; errors of the SQL itself stay DuckDB's, because they are our defects."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        refusal = refused(error, where)
        if refusal is None:
            raise
        raise refusal from error


def refused(error: duckdb.Error, where: str) -> TidemarkError | None:
    """The typed error for `error`; None where it is about a statement and not about the file."""
    import duckdb

    message = str(error)
    if "Could not set lock" in message:
        return locked(where, message)
    if "No space left" in message or "max_temp_directory_size" in message:
        return Unavailable("catalog.disk_full", f"The disk under {where} is full: {message}", "Free some space, then try again.")
    if "Read-only file system" in message:
        return Unavailable("catalog.read_only", f"The file system of {where} is read-only", "Mount it writable, or copy the workspace.")
    if isinstance(error, duckdb.OutOfMemoryException):
        return Unavailable("catalog.memory", f"{where} ran out of memory: {message}", "Ask for a shorter time, or for less at once.")
    if isinstance(error, duckdb.ConnectionException):
        return Unavailable("catalog.closed", f"The catalog {where} is closed", "Start the server again.")
    if "can only read versions" in message or "newer version of DuckDB" in message:
        return Unsupported("catalog.newer", f"{where} was written by a newer DuckDB: {message}", f"Update Tidemark. Or: {REBUILD}")
    return _broken(error, where, message)


def locked(where: str, message: str) -> Unavailable:
    """The error of a file that is open in another process, which DuckDB's `message` names by its pid."""
    holder = _HOLDER.search(message)
    process = f"process {holder[1]}" if holder else "another process"
    return Unavailable(
        "catalog.locked",
        f"The catalog {where} is open in {process}",
        f"Only one process can have it open: talk to its server (`address` prints where), stand by (--standby), or stop {process}.",
    )


def damaged(where: str, why: str) -> Corrupt:
    """The error of a catalog that cannot be read; the files it was made from can."""
    return Corrupt("catalog.damaged", f"The catalog {where} is damaged: {why}", REBUILD)


def newer(where: str, version: int, known: int) -> Unsupported:
    """The error of a schema that a later Tidemark wrote."""
    return Unsupported(
        "catalog.newer",
        f"The catalog {where} has format {version}, this Tidemark reads up to {known}",
        f"Update Tidemark. Or: {REBUILD}",
    )


def _broken(error: duckdb.Error, where: str, message: str) -> TidemarkError | None:
    import duckdb

    if any(words in message for words in ("not a valid DuckDB database file", "hecksum", "Could not read enough bytes")):
        return damaged(where, message)
    if isinstance(error, duckdb.FatalException | duckdb.InternalException | duckdb.SerializationException):
        return damaged(where, message)
    if isinstance(error, duckdb.IOException | duckdb.PermissionException):
        return Unavailable("catalog.unreachable", f"{where} cannot be used: {message}", "Check the folder, its rights and its disk.")
    return None
