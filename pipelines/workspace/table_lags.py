"""How far a query is behind the Delta or Iceberg table that it reads: Spark's progress does not say it, the table itself does."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipelines.checkpoint import delta_log, iceberg_metadata
from pipelines.domain import delta, iceberg_offsets, offsets
from pipelines.domain.errors import Corrupt, NotFound, Unsupported
from pipelines.domain.operators import QueryOperators
from pipelines.domain.sources import Backlog, SourceSeen
from pipelines.savepoint import held_files
from pipelines.storage.addresses import open_storage
from pipelines.words.formats import ICEBERG_STREAM

_DESCRIPTION = re.compile(r"DeltaSource\[(.+)\]")
VERSIONS, SNAPSHOTS = "versions", "snapshots"


def reads_iceberg(query: QueryOperators) -> bool:
    """Whether a source of the query is an Iceberg table, of which Spark's progress does not say which."""
    return any(source.description.startswith(ICEBERG_STREAM) for source in query.sources)


def with_lags(query: QueryOperators, tables: Sequence[str]) -> QueryOperators:
    """The query with the newest place in each table in a folder of this machine, and how many versions or snapshots wait there; `tables`
    as `QueryStarted.tables`, which names those of Iceberg."""
    noted = tables if len(tables) == len(query.sources) else [""] * len(query.sources)
    named = [_named(source, table) for source, table in zip(query.sources, noted, strict=True)]
    return replace(query, sources=tuple(_seen(at, source, table) for at, (source, table) in enumerate(zip(named, noted, strict=True))))


def _named(source: SourceSeen, table: str) -> SourceSeen:
    """Iceberg's source describes itself by its class alone."""
    is_iceberg = table and source.description.startswith(ICEBERG_STREAM)
    return replace(source, description=f"IcebergSource[{table}]") if is_iceberg else source


def _seen(at: int, source: SourceSeen, table: str) -> SourceSeen:
    place, described = offsets.in_table(source.end), _DESCRIPTION.fullmatch(source.description)
    folder = held_files.local_path(described[1] if described else table) if described or table else None
    if place is None or folder is None or source.latest:
        return source
    if isinstance(place, delta.Position):
        waiting, unit = _versions(folder, place), VERSIONS
    else:
        waiting, unit = _snapshots(folder, place), SNAPSHOTS
    if waiting is None:
        return source
    amount, latest = waiting
    return replace(source, latest=latest, backlog=(*source.backlog, Backlog(at, source.description, amount, unit)))


def _versions(folder: Path, place: delta.Position) -> tuple[int, str] | None:
    newest = delta_log.names(open_storage(str(folder)).list(delta_log.FOLDER)).newest
    return (max(0, newest + 1 - place.version), _offset(place, newest + 1)) if newest >= 0 else None


def _snapshots(folder: Path, place: iceberg_offsets.Position) -> tuple[int, str] | None:
    """None where the table cannot be read here, or the place is not in it any more."""
    try:
        table = iceberg_metadata.read(open_storage(str(folder)))
    except (Corrupt, NotFound, Unsupported):
        return None
    way = iceberg_offsets.way(table, place) if table is not None else None
    if table is None or way is None or way.why:
        return None
    waiting = len(list(iceberg_offsets.left(way, place)))
    return waiting, iceberg_offsets.offset_of(iceberg_offsets.latest(table) if waiting else place)


def _offset(place: delta.Position, version: int) -> str:
    """The position behind all that the table has, as Delta would write it."""
    raw = {delta.TABLE: place.table, delta.VERSION: version, delta.INDEX: -1, delta.SNAPSHOT: False}
    return json.dumps(raw, separators=(",", ":"))
