"""What an Iceberg table still holds of what comes after a snapshot: `expire_snapshots` takes those that are old, with their files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pipelines.checkpoint import iceberg_metadata
from pipelines.domain import iceberg_offsets
from pipelines.domain.errors import Corrupt, NotFound, Unsupported
from pipelines.domain.holdings import Holding, Usable
from pipelines.domain.iceberg import DELETE, Table
from pipelines.domain.iceberg_offsets import SKIPPING, Position, Way
from pipelines.domain.ids import QueryName
from pipelines.storage.addresses import open_storage
from pipelines.words import formats, offsets

UNIT = "snapshots"


@dataclass(frozen=True)
class Reading:
    """A query's place in an Iceberg table. Spark plans no batch again that ended there."""

    query: QueryName
    source: str
    folder: str
    at: Position


def holding(place: Reading) -> Holding:
    """What the table in a folder of this machine holds of what comes after the place."""
    answer = partial(Holding, place.query, place.source)
    name = f"Iceberg table {place.folder}"
    try:
        table = iceberg_metadata.read(open_storage(place.folder))
    except (Corrupt, NotFound, Unsupported) as unreadable:
        return answer(Usable.UNKNOWN, f"the metadata of {name} cannot be read here: {unreadable.message}")
    if table is None:
        return answer(Usable.NO, f"{name} is gone", unit=UNIT, has_folder=False)
    way = iceberg_offsets.way(table, place.at)
    if way.why:
        gaps = () if way.lost is None else (f"snapshot {way.lost}",)
        why = f"{name} cannot be read from {offsets.in_table(place.at)} on: {way.why}"
        return answer(Usable.NO, why, gone=len(gaps), unit=UNIT, gaps=gaps)
    return answer(Usable.YES, _whole(name, table, way, place.at), iceberg_offsets.until_ms(table, way), iceberg_offsets.kept_ms(table))


def _whole(name: str, table: Table, way: Way, at: Position) -> str:
    waiting = list(iceberg_offsets.left(way, at))
    files = sum(files for _, files in waiting)
    begins = offsets.in_table(at)
    sentence = f"{name} has all {formats.plural(files, 'file')} from {begins} on: it is {formats.plural(len(waiting), 'snapshot')} behind"
    if not waiting:
        sentence = f"{name} has no rows after {begins} yet"
    ends = iceberg_offsets.end(way, at)
    if ends is None:
        return sentence
    what = "deletes" if ends.operation == DELETE else "overwrites"
    return f"Spark fails at snapshot {ends.id}, which {what} rows, unless the code sets {SKIPPING[ends.operation]}; {sentence}"
