"""Versions in the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.tables import TEXT, WHOLE, document, read, replace
from pipelines.domain.versions import Version

_COLUMNS = {"id": TEXT, "created_ms": WHOLE, "document": TEXT}


def save(writer: Writer, versions: Sequence[Version]) -> None:
    """Add `versions`; one that is known already is the same by its id."""
    replace(writer, "versions", _COLUMNS, ["id"], [(v.id, v.created_ms, document(v)) for v in versions])


def listed(reader: Reader) -> list[Version]:
    """All versions, newest first."""
    return read(Version, reader.execute("SELECT document FROM versions ORDER BY created_ms DESC, id").fetchall(), "version")
