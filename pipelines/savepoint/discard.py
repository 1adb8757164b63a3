"""Deletes a savepoint's folder, manifest first, so that no reader sees a broken savepoint."""

from __future__ import annotations

from pipelines.domain.ids import SavepointId
from pipelines.savepoint import collection, layout, objects, shelves
from pipelines.savepoint.shelves import Shelf
from pipelines.storage import folders
from pipelines.storage.protocol import Storage

MARKS = (layout.MAKING, layout.DISPOSING)


def discard(library: Storage, savepoint: SavepointId) -> None:
    """Deletes all of `savepoint`; done again after a crash it ends the same.

    1. the manifest: from here on nobody sees it;
    2. everything else but the marks of who is at work, and its claim;
    3. the marks, and what no list shows (unfinished writes, empty folders);
    4. what it alone needed of the files that savepoints of its home share.
    """
    shelf, library = library, shelves.own(library)
    marks = [layout.inside(savepoint, name) for name in MARKS]
    library.delete([layout.inside(savepoint, layout.MANIFEST)])  # 1
    claim = [objects.claim_file(savepoint)] if isinstance(shelf, Shelf) else []
    library.delete([*claim, *(entry.path for entry in library.list(savepoint) if entry.path not in marks)])  # 2
    library.delete(marks)  # 3
    folders.remove(library, savepoint)
    if isinstance(shelf, Shelf):  # 4
        collection.collect(library, shelf.needs)
