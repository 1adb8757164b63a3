"""Checkpoints of one source each, made of a query's checkpoint whose newest batch is planned and not committed: Spark, started on one,
reads what that batch reads of the source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pipelines.checkpoint import commits, offsets, source_log
from pipelines.checkpoint.closure import SOURCES
from pipelines.savepoint import held_files
from pipelines.storage.protocol import Storage


def moved(storage: Storage, batch: int) -> Mapping[str, bool]:
    """Place or name of each source that the planned batch has an offset of -> whether it reads anything of it. Raises Corrupt, NotFound."""
    after = offsets.read(storage, batch).offsets
    before = offsets.read(storage, batch - 1).offsets if batch else {}
    return {key: offset != before.get(key) for key, offset in after.items() if offset is not None}


def of_source(storage: Storage, batch: int, key: str, query_id: str) -> Iterator[tuple[str, bytes]]:
    """Path -> content of a checkpoint for the one source `key`. Raises Corrupt, NotFound, Unsupported."""
    yield "metadata", json.dumps({"id": query_id}).encode()
    by_name = offsets.read(storage, batch).version >= 2
    place = key if by_name else "0"
    for number in ([batch - 1] if batch else []) + [batch]:
        entry = storage.read(offsets.path(number))
        yield offsets.path(number), offsets.with_sources(number, entry, {place: key}, by_name=by_name)
    if batch:
        yield commits.path(batch - 1), storage.read(commits.path(batch - 1))
    for file in storage.list(f"{SOURCES}/{key}"):
        yield f"{SOURCES}/{place}/{file.path.removeprefix(f'{SOURCES}/{key}/')}", storage.read(file.path)


def files(storage: Storage, batch: int, key: str) -> tuple[str, ...]:
    """The files that the planned batch reads of the source, as its log has them; none of a source that is not of files."""
    end = source_log.offset_of(offsets.read(storage, batch).offsets[key])
    before = source_log.offset_of(offsets.read(storage, batch - 1).offsets.get(key)) if batch else None
    read = held_files.entries(storage, key, end) if end is not None else ()
    return tuple(entry.path for entry in read if before is None or entry.batch > before)
