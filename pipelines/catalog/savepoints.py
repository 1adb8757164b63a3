"""Savepoints in the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.sql import NEWEST_FIRST
from pipelines.catalog.tables import TEXT, WHOLE, Row, document, read, replace
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint

_COLUMNS = {
    "id": TEXT,
    "job": TEXT,
    "version": TEXT,
    "created_ms": WHOLE,
    "path": TEXT,
    "bytes": WHOLE,
    "new_bytes": WHOLE,
    "document": TEXT,
}


def save(writer: Writer, savepoints: Sequence[Savepoint]) -> None:
    """Add `savepoints`, or replace those of the same id (one that was verified)."""
    replace(writer, "savepoints", _COLUMNS, ["id"], [_row(savepoint) for savepoint in savepoints])


def forget(writer: Writer, savepoint: SavepointId) -> None:
    """Remove a disposed savepoint."""
    writer.execute("DELETE FROM savepoints WHERE id = ?", [savepoint])


def listed(reader: Reader, job: str = "") -> list[Savepoint]:
    """Savepoints of a job, or of all, newest first."""
    rows = reader.execute(f"SELECT document FROM savepoints WHERE ? IN ('', job) {NEWEST_FIRST}", [job]).fetchall()
    return read(Savepoint, rows, "savepoint")


def get(reader: Reader, named: str) -> Savepoint:
    """A savepoint by its id, a unique beginning of the id, or its path. NotFound for none, Invalid (`savepoint.ambiguous`) for several."""
    matches = _matches(reader, named) if named else []
    if not matches:
        raise NotFound("savepoint.not_found", f"There is no savepoint {named!r}", "See them with `savepoints`.")
    if len(matches) > 1:
        several = ", ".join(savepoint.id for savepoint in matches[:5])
        raise Invalid("savepoint.ambiguous", f"{named!r} is the beginning of several savepoints: {several}", "Give more of the id.")
    return matches[0]


def _matches(reader: Reader, named: str) -> list[Savepoint]:
    """The savepoint of exactly this name, else all whose id begins with it."""
    exact = reader.execute("SELECT document FROM savepoints WHERE id = ? OR path = ?", [named, named.rstrip("/")]).fetchall()
    begun = exact or reader.execute(f"SELECT document FROM savepoints WHERE starts_with(id, ?) {NEWEST_FIRST}", [named]).fetchall()
    return read(Savepoint, begun, "savepoint")


def _row(s: Savepoint) -> Row:
    return (s.id, s.job, s.version, s.created_ms, s.path.rstrip("/"), s.bytes, s.new_bytes, document(s))
