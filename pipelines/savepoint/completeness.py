"""Whether files are there with their sizes: the first level of trust, asked before a manifest is written and before a restore."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial

from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import StoredFile
from pipelines.domain.trust import Damage
from pipelines.storage import folders, parallel, paths
from pipelines.storage.inodes import sizes
from pipelines.storage.protocol import Entry, Storage


def there(library: Storage, savepoint: SavepointId) -> Mapping[str, Entry]:
    """What the savepoint has, by path in it."""
    return {entry.path[len(savepoint) + 1 :]: entry for entry in library.list(savepoint)}


def damages(
    library: Storage, savepoint: SavepointId, files: Iterable[StoredFile], entries: Mapping[str, Entry] | None = None
) -> list[Damage]:
    """The damages of `files`: missing, or of another size. `entries` is what `there` has answered, where it was asked just now."""
    entries = there(library, savepoint) if entries is None else entries
    return compared(files, {path: entry.bytes for path, entry in entries.items()})


def compared(files: Iterable[StoredFile], sizes: Mapping[str, int]) -> list[Damage]:
    """The damages of `files` where those of these sizes are there, by path."""
    return [_damage(file, sizes.get(file.path)) for file in files if sizes.get(file.path) != file.bytes]


def require(library: Storage, savepoint: SavepointId, files: Sequence[StoredFile], few: bool) -> None:
    """Raises NotFound where one of `files` is not what was listed: it changed or vanished in between, so begin again. A `few` of the
    savepoint's are asked for their sizes, all are listed."""
    if few and folders.local(library):
        changed = compared(files, sizes(library, savepoint, [file.path for file in files]))
    else:
        changed = damages(library, savepoint, files)
    for damage in changed:
        raise NotFound("storage.not_found", f"{damage.path} changed while it was cloned: {damage.message}", "Try again.")


def settle(library: Storage, folder: str, files: Sequence[StoredFile], put: Iterable[str], proved: Container[str] = ()) -> None:
    """Flushes the names in `folder` and the files `put` there to disk, and meanwhile checks all files but those that their links have
    `proved` (by their paths): raises what `require` raises."""
    rest = [file for file in files if file.path not in proved]
    homes = {f"{folder}/{home}" if home else folder for home in {paths.parent(file.path) for file in files}}
    flushed = partial(folders.flush, library, homes, [paths.join(folder, path) for path in put])
    complete = partial(require, library, SavepointId(folder), rest, len(rest) < len(files))
    parallel.each(lambda step: step(), (flushed, complete), 2, alone_s=0)


def refuse(savepoint: SavepointId, damages: Iterable[Damage]) -> None:
    """Raises Corrupt for the first of the damages found in a published savepoint."""
    for damage in damages:
        raise Corrupt(
            "savepoint.damaged",
            f"Savepoint {savepoint}: {damage.path}: {damage.message}",
            "Restore the file from a copy, or use another savepoint.",
        )


def _damage(file: StoredFile, size: int | None) -> Damage:
    if size is None:
        return Damage(file.path, "missing", "is missing")
    return Damage(file.path, "size", f"has {size} bytes, should have {file.bytes}")
