"""`imported.json` beside a manifest: that the savepoint came from elsewhere, when and from where. It never leaves with an export."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.bounds import Format, Moment
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.savepoint import layout, manifests
from pipelines.storage import documents
from pipelines.storage.protocol import Storage

IMPORT_RECORD_FORMAT = 1


@dataclass(frozen=True)
class ImportRecord:
    """One import."""

    format: Format
    savepoint: SavepointId
    at_ms: Moment
    url: str


def write(library: Storage, savepoint: SavepointId, at_ms: int, url: str) -> None:
    """Notes the import of a savepoint that is about to be published."""
    data = documents.encode(ImportRecord(IMPORT_RECORD_FORMAT, savepoint, at_ms, url))
    library.write(layout.inside(savepoint, layout.IMPORTED), data)


def read(library: Storage, savepoint: SavepointId) -> ImportRecord | None:
    """Reads the record, None for a savepoint that was taken here; Corrupt, or Unsupported for a newer format."""
    return manifests.read_beside(ImportRecord, library, savepoint, layout.IMPORTED, IMPORT_RECORD_FORMAT)


def as_imported(savepoint: Savepoint, record: ImportRecord | None) -> Savepoint:
    """`savepoint` as lists show it where it was imported to."""
    if record is None:
        return savepoint
    return replace(savepoint, reason=Reason.IMPORTED, imported_ms=record.at_ms, imported_from=record.url)
