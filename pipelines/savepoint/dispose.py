"""Dispose of a savepoint: unpublish it, then delete its files; never under a fork that is being made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.disposals import DisposePlan
from pipelines.domain.errors import Conflict, Unavailable
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import layout, leases, manifests, process_marks, space
from pipelines.savepoint.discard import discard
from pipelines.savepoint.space import Held
from pipelines.storage import documents
from pipelines.storage.protocol import Entry, Storage


@dataclass(frozen=True)
class Look:
    """What a disposal saw when it was planned: its plan, and the files that it counted."""

    plan: DisposePlan
    held: Held


def look(library: Storage, savepoint: SavepointId, now_ms: int) -> Look:
    """Plans `dispose`: what it deletes and frees. A damaged savepoint can be disposed of too."""
    entries, held = _entries(library, savepoint), space.held(library, savepoint)
    plan = DisposePlan(
        savepoint=savepoint,
        files=len(entries),
        bytes=sum(entry.bytes for entry in entries),
        frees_bytes=held.frees_bytes,
        blockers=leases.held(library, savepoint, now_ms, process_marks.lives),
    )
    return Look(plan, held)


def dispose(library: Storage, savepoint: SavepointId, now_ms: int, lives: process_marks.Lives = process_marks.lives) -> None:
    """Deletes `savepoint`; NotFound where there is none, Conflict (`savepoint.in_use`) while something is made from it.

    1. mark it, so that no lease is given from here on;
    2. look for leases given before: if there is one, take the mark back;
    3. delete it, the manifest first. A crash from here on is finished by `library.clean`.
    """
    _entries(library, savepoint)
    mark = layout.inside(savepoint, layout.DISPOSING)
    _mark(library, mark, now_ms)  # 1
    blockers = leases.held(library, savepoint, now_ms, lives)  # 2
    if blockers:
        library.delete([mark])
        raise in_use(savepoint, blockers)
    discard(library, savepoint)  # 3


def _entries(library: Storage, savepoint: SavepointId) -> Sequence[Entry]:
    """All files of the savepoint, also of one that has lost its manifest; NotFound where there is none, or one that is not finished yet."""
    entries = list(library.list(savepoint))
    names = {entry.path for entry in entries}
    if not names or (layout.inside(savepoint, layout.MAKING) in names and layout.inside(savepoint, layout.MANIFEST) not in names):
        manifests.load(library, savepoint)
    return entries


def _mark(library: Storage, mark: str, now_ms: int) -> None:
    """Marks the savepoint as being disposed of; on a full storage goes on without: no lease can be written there either."""
    try:
        library.write(mark, documents.encode(process_marks.this_process(now_ms, "dispose")))
    except Unavailable as error:
        if error.code != "storage.full":
            raise


def in_use(savepoint: SavepointId, blockers: tuple[str, ...]) -> Conflict:
    """The refusal of a savepoint that something is made from."""
    return Conflict(
        "savepoint.in_use",
        f"Savepoint {savepoint} is in use: {', '.join(blockers)} is being made from it",
        "Try again when that has started; what is made from a savepoint does not need it afterwards.",
    )
