"""Leases: while a fork is made from a savepoint, the savepoint may not be disposed of.

A lease and the mark of a disposal are each written first and then looked for: whichever comes second sees the first and gives way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import layout, process_marks
from pipelines.storage import documents, paths
from pipelines.storage.protocol import Storage


@contextmanager
def lease(
    library: Storage, savepoint: SavepointId, target: str, now_ms: int, lives: process_marks.Lives = process_marks.lives
) -> Iterator[None]:
    """Holds `savepoint` for as long as `target` is made from it; Conflict where it is being disposed of, NotFound where it is gone."""
    path = layout.inside(savepoint, paths.join(layout.LEASES, _name(target)))
    library.write(path, documents.encode(process_marks.this_process(now_ms, target)))
    try:
        _refuse_disposed(library, savepoint, now_ms, lives)
        yield
    finally:
        library.delete([path])


def held(library: Storage, savepoint: SavepointId, now_ms: int, lives: process_marks.Lives = process_marks.lives) -> tuple[str, ...]:
    """Targets that are being made from `savepoint` now; leases of dead processes do not count."""
    return tuple(mark.purpose for _, mark in _all(library, savepoint) if lives(mark, now_ms))


def stale(library: Storage, savepoint: SavepointId, now_ms: int, lives: process_marks.Lives) -> tuple[str, ...]:
    """Paths of the leases whose process is gone."""
    return tuple(path for path, mark in _all(library, savepoint) if not lives(mark, now_ms))


def _all(library: Storage, savepoint: SavepointId) -> Iterator[tuple[str, process_marks.ProcessMark]]:
    for entry in library.list(layout.inside(savepoint, layout.LEASES)):
        mark = process_marks.read(library, entry.path)
        if mark is not None:
            yield entry.path, mark


def _refuse_disposed(library: Storage, savepoint: SavepointId, now_ms: int, lives: process_marks.Lives) -> None:
    mark = process_marks.read(library, layout.inside(savepoint, layout.DISPOSING))
    if mark is not None and lives(mark, now_ms):
        raise Conflict("savepoint.disposing", f"Savepoint {savepoint} is being disposed of", "Use another savepoint.")


def _name(target: str) -> str:
    """File name of the lease: one a target, since two restores into the same place cannot run."""
    return f"{hashlib.sha256(target.encode()).hexdigest()[:16]}.json"
