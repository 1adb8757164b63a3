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
    """DuckDB's errors about the file `where` leave as Tidemark's; wrong SQL stays DuckDB's, for it is a defect of ours."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        refusal = refused(error, where)
        if refusal is None:
            raise
        raise refusal from error


def refused(error: duckdb.Error, where: str) -> TidemarkError | None:
    """What `error` means for the caller; None where it speaks of a statement and not of the file."""
    import duckdb

    said = str(error)
    if "Could not set lock" in said:
        return locked(where, said)
    if "No space left" in said or "max_temp_directory_size" in said:
        return Unavailable("catalog.disk_full", f"The disk under {where} is full: {said}", "Free some space, then try again.")
    if isinstance(error, duckdb.OutOfMemoryException):
        return Unavailable("catalog.memory", f"{where} ran out of memory: {said}", "Ask for a shorter time, or for less at once.")
    if isinstance(error, duckdb.ConnectionException):
        return Unavailable("catalog.closed", f"The catalog {where} is closed", "Start the server again.")
    if "can only read versions" in said or "newer version of DuckDB" in said:
        return Unsupported("catalog.newer", f"{where} was written by a newer DuckDB: {said}", f"Update Tidemark. Or: {REBUILD}")
    return _broken(error, where, said)


def locked(where: str, said: str) -> Unavailable:
    """The file is open in another process, which DuckDB names by its pid."""
    holder = _HOLDER.search(said)
    process = f"process {holder[1]}" if holder else "another process"
    return Unavailable(
        "catalog.locked",
        f"The catalog {where} is open in {process}",
        f"Only one process can have it open. Talk to the running server, or stop {process} first.",
    )


def damaged(where: str, why: str) -> Corrupt:
    """The index cannot be read; the files it was made from can."""
    return Corrupt("catalog.damaged", f"The catalog {where} is damaged: {why}", REBUILD)


def newer(where: str, found: int, known: int) -> Unsupported:
    """A schema from a later Tidemark."""
    return Unsupported(
        "catalog.newer",
        f"The catalog {where} has format {found}, this Tidemark reads up to {known}",
        f"Update Tidemark. Or: {REBUILD}",
    )


def _broken(error: duckdb.Error, where: str, said: str) -> TidemarkError | None:
    import duckdb

    if "not a valid DuckDB database file" in said or "hecksum" in said:
        return damaged(where, said)
    if isinstance(error, duckdb.FatalException | duckdb.InternalException | duckdb.SerializationException):
        return damaged(where, said)
    if isinstance(error, duckdb.IOException | duckdb.PermissionException):
        return Unavailable("catalog.unreachable", f"{where} cannot be used: {said}", "Check the folder, its rights and its disk.")
    return None
