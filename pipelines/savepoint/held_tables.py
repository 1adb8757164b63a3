"""What a table still holds of what comes after a query's place in it: each kind of table is asked in its own way."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.checkpoint import offsets as offset_log
from pipelines.domain import delta, offsets
from pipelines.domain.delta import Position, Removals
from pipelines.domain.errors import NotFound
from pipelines.domain.holdings import Holding, Usable
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.savepoint import held_delta, held_iceberg
from pipelines.savepoint.held_files import Seen
from pipelines.storage.protocol import Storage

UNNOTED = "which {kind} table it reads was not noted, or it reads changes, or may pass over what is gone"
ELSEWHERE = "its {kind} table {folder} is not in a folder of this machine, where somebody could look"
Reading = held_delta.Reading | held_iceberg.Reading


def reading(image: QueryImage, offset: SourceOffset, checkpoint: Storage) -> Reading | None:
    """The place of the source at `offset` in its table, its folder empty where nobody noted it; None for another source."""
    at = offsets.in_table(offset.offset)
    if at is None:
        return None
    if not isinstance(at, Position):
        return held_iceberg.Reading(image.query, offset.source, folder(image, offset), at)
    before = _before(checkpoint, image.batch, offset)
    begin = before if before is not None and before.table == at.table else at
    return held_delta.Reading(image.query, offset.source, folder(image, offset), begin, at, _noted(image, offset, image.removals))


def folder(image: QueryImage, offset: SourceOffset) -> str:
    """The folder or URL of the table that the source at `offset` reads, where the files that its commits add say what it will find; empty
    where they do not, or nobody noted it."""
    is_told = _noted(image, offset, image.removals) not in (Removals.CHANGES, Removals.LOSES)
    return table(image, offset) if is_told else ""


def table(image: QueryImage, offset: SourceOffset) -> str:
    """The folder or URL of the table that the source at `offset` reads; empty where nobody noted it."""
    return _noted(image, offset, image.tables)


def _noted(image: QueryImage, offset: SourceOffset, of_sources: Sequence[str]) -> str:
    """What of the image's sources, one by one, is noted of the one at `offset`; empty where it is not."""
    places = [source_offset.source for source_offset in image.offsets]
    return of_sources[places.index(offset.source)] if len(of_sources) == len(places) else ""


def holding(place: Reading, seen: Seen) -> Holding:
    """What the table holds of what comes after the place."""
    if not place.folder.startswith("/"):
        why = ELSEWHERE if place.folder else UNNOTED
        kind = "Iceberg" if isinstance(place, held_iceberg.Reading) else "Delta"
        return Holding(place.query, place.source, Usable.UNKNOWN, why.format(kind=kind, folder=place.folder))
    return held_iceberg.holding(place) if isinstance(place, held_iceberg.Reading) else held_delta.holding(place, seen)


def _before(checkpoint: Storage, batch: int, offset: SourceOffset) -> Position | None:
    """Where the last batch began, which Spark plans once more of a Delta table; None where that is not known any more, it was the first, or
    the source is moved, with that batch."""
    try:
        if batch == 0 or offset_log.read(checkpoint, batch).offsets.get(offset.source) != offset.offset:
            return None
        return delta.position_of(offset_log.read(checkpoint, batch - 1).offsets.get(offset.source) or "")
    except NotFound:
        return None
