"""Leases: while a fork is made from a savepoint, the savepoint may not be disposed of.

A lease and the mark of a disposal are each written first and then looked for: whichever comes second sees the first and gives way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import makers, places
from pipelines.storage import documents, paths
from pipelines.storage.protocol import Storage


@contextmanager
def lease(library: Storage, savepoint: SavepointId, target: str, now_ms: int, lives: makers.Lives = makers.lives) -> Iterator[None]:
    """Holds `savepoint` for as long as `target` is made from it; Conflict where it is being disposed of, NotFound where it is gone."""
    path = places.inside(savepoint, paths.join(places.LEASES, _name(target)))
    library.write(path, documents.encode(makers.this_process(now_ms, target)))
    try:
        _refuse_disposed(library, savepoint, now_ms, lives)
        yield
    finally:
        library.delete([path])


def held(library: Storage, savepoint: SavepointId, now_ms: int, lives: makers.Lives = makers.lives) -> tuple[str, ...]:
    """What is made from `savepoint` right now; leases of processes that are gone do not count."""
    return tuple(maker.purpose for _, maker in _all(library, savepoint) if lives(maker, now_ms))


def stale(library: Storage, savepoint: SavepointId, now_ms: int, lives: makers.Lives = makers.lives) -> tuple[str, ...]:
    """Paths of the leases whose process is gone."""
    return tuple(path for path, maker in _all(library, savepoint) if not lives(maker, now_ms))


def _all(library: Storage, savepoint: SavepointId) -> Iterator[tuple[str, makers.Maker]]:
    for entry in library.list(places.inside(savepoint, places.LEASES)):
        maker = makers.read(library, entry.path)
        if maker is not None:
            yield entry.path, maker


def _refuse_disposed(library: Storage, savepoint: SavepointId, now_ms: int, lives: makers.Lives) -> None:
    maker = makers.read(library, places.inside(savepoint, places.DISPOSING))
    if maker is not None and lives(maker, now_ms):
        raise Conflict("savepoint.disposing", f"Savepoint {savepoint} is being disposed of", "Use another savepoint.")


def _name(target: str) -> str:
    """One lease a target: two restores into the same place cannot be."""
    return f"{hashlib.sha256(target.encode()).hexdigest()[:16]}.json"
