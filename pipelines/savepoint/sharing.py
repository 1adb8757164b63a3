"""The files that a savepoint in the making shares with others of its home: which are there already, and which it adds for those to come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import StoredFile
from pipelines.savepoint import objects
from pipelines.savepoint.contents import Part
from pipelines.savepoint.objects import Claim
from pipelines.savepoint.shelves import Shelf
from pipelines.storage import documents
from pipelines.storage.protocol import Clone, Storage

Keys = Mapping[str, tuple[str, int]]
"""Path in the savepoint -> key and bytes."""


@dataclass(frozen=True)
class Sharing:
    """Path in the savepoint -> name in the content store; `there` are names that need not be made."""

    names: Mapping[str, str] = field(default_factory=dict)
    there: frozenset[str] = frozenset()

    def missing(self, part: Part) -> tuple[Sequence[Clone], Sequence[StoredFile]]:
        """The files of a part that are to be copied, and what they will be."""
        if not self.names:
            return part.clone, part.cloned
        pairs = [pair for pair in zip(part.clone, part.cloned, strict=True) if self.names.get(pair[0].target) not in self.there]
        return [file for file, _ in pairs], [stored for _, stored in pairs]

    def targets(self, savepoint: SavepointId, files: Iterable[Clone]) -> list[Clone]:
        """The files, whose targets are paths of the savepoint, with where they go in its home."""
        if not self.names:
            return [Clone(source, f"{savepoint}/{target}", size, tag, inode) for source, target, size, tag, inode in files]
        return [file._replace(target=self._target(savepoint, file.target)) for file in files]

    def _target(self, savepoint: SavepointId, path: str) -> str:
        name = self.names.get(path)
        return f"{savepoint}/{path}" if name is None else objects.path(name)


def look(library: Storage, parts: Iterable[Part]) -> Sharing:
    """What a savepoint of `parts` would share now: for its plan."""
    keys = _keys(library, parts)
    return _sharing(library, keys, "planned") if isinstance(library, Shelf) and keys else Sharing()


def begin(library: Storage, savepoint: SavepointId, parts: Iterable[Part]) -> Sharing:
    """What the savepoint shares. The order is the correctness (`pipelines.savepoint.collection`): its claim; what is condemned; what is
    there."""
    keys = _keys(library, parts)
    if not isinstance(library, Shelf) or not keys:
        return Sharing()
    claim = Claim(objects.FORMAT, tuple(sorted({key for key, _ in keys.values()})))
    library.home.write(objects.claim_file(savepoint), documents.encode(claim))
    return _sharing(library, keys, objects.maker(savepoint))


def confirm(library: Storage, savepoint: SavepointId, sharing: Sharing) -> None:
    """Raises Conflict (`savepoint.claim_gone`) where somebody took the claim away before the savepoint was published: what it names may
    have been deleted."""
    if not sharing.names or not isinstance(library, Shelf):
        return
    try:
        library.home.read(objects.claim_file(savepoint))
    except NotFound as error:
        message = f"Another start took savepoint {savepoint} for the rest of a crash while it was taken"
        raise Conflict("savepoint.claim_gone", message, "Take it again; check the clocks of both machines.") from error


def _keys(library: Storage, parts: Iterable[Part]) -> Keys:
    """Those of what can be shared."""
    shared = [part for part in parts if isinstance(library, Shelf) and library.shares(part.source, part.clone)]
    return {file.target: (objects.key(part.source, file), file.bytes) for part in shared for file in part.clone}


def _sharing(library: Shelf, keys: Keys, maker: str) -> Sharing:
    """An object that has another size than its key says is none: somebody else wrote there."""
    condemned = frozenset(name for names in objects.condemned(library.home).values() for name in names)
    origins, expected = sorted({key.partition("/")[0] for key, _ in keys.values()}), dict(keys.values())
    listed = [each for origin in origins for each in objects.sizes(library.home, origin).items()]
    there = frozenset(name for name, size in listed if name not in condemned and expected.get(objects.key_of(name)) == size)
    kept = objects.by_key(there)
    names = {path: kept.get(key) or f"{key}.{maker}" for path, (key, _) in keys.items()}
    return Sharing(names, there & frozenset(names.values()))
