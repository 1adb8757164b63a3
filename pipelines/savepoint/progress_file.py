"""`progress.json` of a savepoint: Spark's progress events of the saved batches, kept so that a proof elsewhere can compare with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.bounds import Format
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import QueryName, SavepointId
from pipelines.savepoint import layout, manifests
from pipelines.storage import documents
from pipelines.storage.protocol import Storage

PROGRESS_FORMAT = 1


@dataclass(frozen=True)
class Said:
    """The document: query -> Spark's own progress event of the batch that the savepoint holds, unchanged."""

    format: Format
    savepoint: SavepointId
    queries: Mapping[QueryName, dict[str, Any]]


def read(library: Storage, savepoint: SavepointId) -> Mapping[QueryName, dict[str, Any]]:
    """Query -> Spark's progress event (`StreamingQueryProgress.json`); empty where none was kept. Raises Corrupt, Unsupported."""
    try:
        data = library.read(layout.inside(savepoint, layout.PROGRESS))
    except NotFound:
        return {}
    return decode(data, savepoint).queries


def decode(data: bytes, savepoint: SavepointId) -> Said:
    """The document in `data`; raises Corrupt, or Unsupported for a newer format."""
    name = f"{layout.PROGRESS} of savepoint {savepoint}"
    return documents.decode(Said, data, name, PROGRESS_FORMAT)


def write(library: Storage, savepoint: SavepointId, events: Mapping[QueryName, dict[str, Any]]) -> None:
    """Keeps `events`; written once, before the savepoint is sealed, so that the seal covers it. Without events nothing is written."""
    if events:
        document = Said(PROGRESS_FORMAT, savepoint, events)
        manifests.write_beside(library, savepoint, layout.PROGRESS, documents.encode(document))
