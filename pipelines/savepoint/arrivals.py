"""`imported.json` beside a manifest: that the savepoint came from elsewhere, when and from where. It never leaves with an export."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.errors import NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.savepoint import manifests, places
from pipelines.storage import documents
from pipelines.storage.protocol import Storage

ARRIVAL_FORMAT = 1


@dataclass(frozen=True)
class Arrival:
    """One import."""

    format: int
    savepoint: SavepointId
    at_ms: int
    url: str


def write(library: Storage, savepoint: SavepointId, at_ms: int, url: str) -> None:
    """Notes the arrival of a savepoint that is about to be published."""
    data = documents.encode(Arrival(ARRIVAL_FORMAT, savepoint, at_ms, url))
    library.write(places.inside(savepoint, places.IMPORTED), data)


def read(library: Storage, savepoint: SavepointId) -> Arrival | None:
    """None for a savepoint that was taken here; Corrupt, or Unsupported for a newer format."""
    try:
        data = library.read(places.inside(savepoint, places.IMPORTED))
    except NotFound:
        return None
    name = f"{places.IMPORTED} of savepoint {savepoint}"
    manifests.refuse_newer(data, name, ARRIVAL_FORMAT)
    return documents.decode(Arrival, data, name)


def arrived(savepoint: Savepoint, arrival: Arrival | None) -> Savepoint:
    """`savepoint` as lists show it where it was imported to."""
    if arrival is None:
        return savepoint
    return replace(savepoint, reason=Reason.IMPORTED, imported_ms=arrival.at_ms, imported_from=arrival.url)
