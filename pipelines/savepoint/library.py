"""The savepoints of a workspace: listed by their manifests, loaded by id, and cleaned of what crashes left."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from pipelines.domain.annotations import annotated
from pipelines.domain.errors import Corrupt, NotFound, TidemarkError
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Manifest, Savepoint
from pipelines.savepoint import annotation, holdings, import_records, layout, leases, manifests, objects, process_marks, shelves
from pipelines.savepoint.discard import discard
from pipelines.storage import folders
from pipelines.storage.protocol import Storage


@dataclass(frozen=True)
class Unreadable:
    """A published savepoint whose manifest cannot be read: shown, never hidden."""

    id: SavepointId
    error: TidemarkError


@dataclass(frozen=True)
class Shelf:
    """Everything in a library: newest savepoint first, and those that are damaged."""

    savepoints: tuple[Savepoint, ...]
    unreadable: tuple[Unreadable, ...]


class Outcome(enum.Enum):
    """What cleaning did with one savepoint."""

    KEPT = enum.auto()
    BUSY = enum.auto()
    """Some process works on it, or what is made from it keeps its disposal from being completed."""
    UNFINISHED = enum.auto()
    DISPOSED = enum.auto()
    LOST = enum.auto()


@dataclass(frozen=True)
class Cleaned:
    """What a cleaning removed: unfinished savepoints, and savepoints whose disposal had begun; and what it could not clean."""

    unfinished: tuple[SavepointId, ...] = ()
    disposed: tuple[SavepointId, ...] = ()
    lost: tuple[SavepointId, ...] = ()
    """Those that were published and have no manifest any more: they stay."""
    failed: tuple[Unreadable, ...] = ()


def shelf(library: Storage) -> Shelf:
    """All published savepoints; a folder without a manifest is none."""
    savepoints: list[Savepoint] = []
    unreadable: list[Unreadable] = []
    for savepoint in _folders(library):
        try:
            savepoints.append(load(library, savepoint))
        except NotFound:
            continue
        except TidemarkError as error:
            unreadable.append(Unreadable(savepoint, error))
    return Shelf(tuple(sorted(savepoints, key=lambda listed: (listed.created_ms, listed.id), reverse=True)), tuple(unreadable))


def load(library: Storage, savepoint: SavepointId) -> Savepoint:
    """One savepoint, with what was written beside its manifest; raises NotFound, Corrupt, or Unsupported for a newer format."""
    summary = manifests.summary(library, manifest(library, savepoint), manifests.last_verification(library, savepoint))
    summary = replace(summary, holdings=holdings.read(library, savepoint))
    return annotated(import_records.as_imported(summary, import_records.read(library, savepoint)), annotation.read(library, savepoint))


def manifest(library: Storage, savepoint: SavepointId) -> Manifest:
    """The manifest of one savepoint; raises like `load`."""
    return manifests.load(library, savepoint)


def clean(library: Storage, now_ms: int, lives: process_marks.Lives = process_marks.lives) -> Cleaned:
    """Removes what died halfway: savepoints never published, the rest of disposals, and unfinished writes in the others.

    What a living process works on stays, and so does what cannot be cleaned: the others are all the same.
    Only for a library that nobody writes to through another opening.
    """
    outcomes: dict[Outcome, list[SavepointId]] = {outcome: [] for outcome in Outcome}
    failed: list[Unreadable] = []
    for savepoint in _folders(library):
        try:
            outcomes[cleaned(library, savepoint, now_ms, lives)].append(savepoint)
        except TidemarkError as error:
            failed.append(Unreadable(savepoint, error))
    return Cleaned(tuple(outcomes[Outcome.UNFINISHED]), tuple(outcomes[Outcome.DISPOSED]), tuple(outcomes[Outcome.LOST]), tuple(failed))


def cleaned(library: Storage, savepoint: SavepointId, now_ms: int, lives: process_marks.Lives = process_marks.lives) -> Outcome:
    """Cleans one savepoint as `clean` does. Who makes one says so first, and takes that away last: without a mark it was whole once."""
    making, disposing = (process_marks.read(library, layout.inside(savepoint, name)) for name in (layout.MAKING, layout.DISPOSING))
    if any(mark is not None and lives(mark, now_ms) for mark in (making, disposing)):
        return Outcome.BUSY
    published, held = _exists(library, savepoint, layout.MANIFEST), leases.held(library, savepoint, now_ms, lives)
    marked = [name for name in (layout.DISPOSING, layout.MAKING) if _exists(library, savepoint, name)]
    if not published and not marked and next(iter(library.list(savepoint)), None) is not None:
        return Outcome.LOST
    if not published or (disposing is not None and not held):
        discard(library, savepoint)
        return Outcome.DISPOSED if layout.DISPOSING in marked else Outcome.UNFINISHED
    claim = [objects.claim_file(savepoint)] if isinstance(library, shelves.Shelf) else []
    library.delete([*claim, layout.inside(savepoint, layout.MAKING), *leases.stale(library, savepoint, now_ms, lives)])
    if not held:
        folders.sweep(library, savepoint)
    return Outcome.KEPT if disposing is None else Outcome.BUSY


def discard_unfinished(library: Storage, savepoint: SavepointId, now_ms: int, lives: process_marks.Lives = process_marks.lives) -> None:
    """Removes what a process that is gone has left of a savepoint that it did not publish: one that still lived when the workspace was
    opened, as a worker that had yet to notice its server's end, was left alone then."""
    mark = process_marks.read(library, layout.inside(savepoint, layout.MAKING))
    if mark is not None and not lives(mark, now_ms) and not _exists(library, savepoint, layout.MANIFEST):
        discard(library, savepoint)


def _folders(library: Storage) -> list[SavepointId]:
    return [SavepointId(name) for name in folders.children(library) if name != objects.FOLDER]


def _exists(library: Storage, savepoint: SavepointId, name: str) -> bool:
    """Whether a document is there, readable or not.

    Ask for the manifest after the process mark was read: publishing writes the manifest before it removes the mark.
    """
    try:
        library.read(layout.inside(savepoint, name))
    except NotFound:
        return False
    except Corrupt:
        return True
    return True
