"""`holdings.json` beside a manifest: what the sources of the savepoint still held when they were last asked, here. No export carries it."""

from __future__ import annotations

from pipelines.domain.errors import Corrupt, Unsupported
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
        holdings = manifests.read_beside(Holdings, library, savepoint, layout.HOLDINGS, HOLDINGS_FORMAT)
    except (Corrupt, Unsupported):
        return None
    return holdings if holdings and holdings.savepoint == savepoint else None
