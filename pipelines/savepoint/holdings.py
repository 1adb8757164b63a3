"""`holdings.json` beside a manifest: what the sources of the savepoint still held when they were last asked, here. No export carries it."""

from __future__ import annotations

from pipelines.domain.errors import Corrupt, NotFound, Unsupported
from pipelines.domain.holdings import HOLDINGS_FORMAT, Holdings
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import layout, manifests
from pipelines.storage import documents
from pipelines.storage.protocol import Storage


def write(library: Storage, holdings: Holdings) -> None:
    """Writes `holdings.json`; NotFound where the savepoint was deleted."""
    manifests.write_beside(library, holdings.savepoint, layout.HOLDINGS, documents.encode(holdings))


def read(library: Storage, savepoint: SavepointId) -> Holdings | None:
    """What was written; None where there is none, or none that can be read: the sources are asked again."""
    try:
        holdings = decode(library.read(layout.inside(savepoint, layout.HOLDINGS)), savepoint)
    except (NotFound, Corrupt, Unsupported):
        return None
    return holdings if holdings.savepoint == savepoint else None


def decode(data: bytes, savepoint: SavepointId) -> Holdings:
    """The answer in `data`; raises Corrupt, or Unsupported for a newer format."""
    return documents.decode(Holdings, data, f"{layout.HOLDINGS} of savepoint {savepoint}", HOLDINGS_FORMAT)
