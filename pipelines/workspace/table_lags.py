"""How far a query is behind the Delta table that it reads: Spark's progress does not say it, the table's log does."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from pipelines.checkpoint import delta_log
from pipelines.domain import delta
from pipelines.domain.delta import Position
from pipelines.domain.operators import Backlog, QueryOperators, SourceSeen
from pipelines.savepoint import held_files
from pipelines.storage.addresses import open_storage

_DESCRIPTION = re.compile(r"DeltaSource\[(.+)\]")
VERSIONS = "versions"


def with_lags(query: QueryOperators) -> QueryOperators:
    """The query with the newest version of each Delta table in a folder of this machine, and how many versions wait there."""
    return replace(query, sources=tuple(_seen(at, source) for at, source in enumerate(query.sources)))


def _seen(at: int, source: SourceSeen) -> SourceSeen:
    place, named = delta.position_of(source.end), _DESCRIPTION.fullmatch(source.description)
    folder = held_files.local_path(named[1]) if named else None
    newest = _newest(folder) if folder is not None and not source.latest else -1
    if place is None or newest < 0:
        return source
    behind = Backlog(at, source.description, max(0, newest + 1 - place.version), VERSIONS)
    return replace(source, latest=_offset(place, newest + 1), backlog=(*source.backlog, behind))


def _newest(folder: Path) -> int:
    return delta_log.names(open_storage(str(folder)).list(delta_log.FOLDER)).newest


def _offset(place: Position, version: int) -> str:
    """The position behind all that the table has, as Delta would write it."""
    raw = {delta.TABLE: place.table, delta.VERSION: version, delta.INDEX: -1, delta.SNAPSHOT: False}
    return json.dumps(raw, separators=(",", ":"))
