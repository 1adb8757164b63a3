"""Whether the Iceberg table that a query writes to still has the snapshot that a savepoint notes: `expire_snapshots` may take one that has
no tag."""

from __future__ import annotations

from functools import partial

from pipelines.domain import iceberg_offsets
from pipelines.domain.holdings import Holding, Usable
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import QueryImage
from pipelines.savepoint import iceberg_tables, iceberg_tags
from pipelines.storage.protocol import Storage

SINK = "sink"
"""In place of a source's name."""
UNIT = "snapshots"


def holding(library: Storage, savepoint: SavepointId, image: QueryImage) -> Holding | None:
    """What the table has of what a fork begins with; None for another sink, and where no snapshot was noted. A snapshot that has no tag of
    the savepoint's gets it. Raises NotFound where that was disposed of meanwhile."""
    noted = image.snapshot
    if noted is None or noted.snapshot is None:
        return None
    table, answer = iceberg_tables.now(image), partial(Holding, image.query, SINK)
    name, gaps = f"Iceberg table {image.sink_path}", (f"snapshot {noted.snapshot}",)
    if isinstance(table, str):
        return answer(Usable.UNKNOWN, f"{name} cannot be looked at: {table}")
    if table.uuid != noted.table:
        return answer(Usable.NO, f"{name} was made anew: a fork begins only with its sink fresh", gone=1, unit=UNIT, gaps=gaps)
    snapshot = table.snapshots.get(noted.snapshot)
    if snapshot is None:
        return answer(Usable.NO, f"{name} has expired it: a fork begins only with its sink fresh", gone=1, unit=UNIT, gaps=gaps)
    tag = iceberg_tags.name(savepoint, snapshot.id)
    left = () if table.tags.get(tag) == snapshot.id else iceberg_tags.keep(library, savepoint, (image,))
    begins = f"{name} has snapshot {snapshot.id}, with which a fork begins"
    if not left:
        return answer(Usable.YES, f"{begins}, and keeps it for its tag {tag}")
    kept_ms = None if snapshot.id in table.branches.values() else iceberg_offsets.kept_ms(table)
    until_ms = None if kept_ms is None else snapshot.at_ms + kept_ms
    return answer(Usable.YES, f"{begins}; it cannot be tagged, so its age counts ({left[0].why})", until_ms)
