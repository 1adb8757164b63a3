"""Names in the content store of a home: immutable files that its savepoints share, who needs them, and which are about to go.

`objects/files/<origin>/<key>.<maker>` is such a file: its origin is the folder it was copied from, its key says of which path, size and
content, its maker which taking of a savepoint made it. No name is ever used a second time.
`objects/claims/<savepoint>.json` says what a savepoint in the making needs, `objects/condemned/<collection>.json` what a collection
deletes.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pipelines.domain.bounds import Format
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import layout
from pipelines.storage import documents, paths
from pipelines.storage.protocol import Clone, Storage

FOLDER = "objects"
FILES, CLAIMS, CONDEMNED = f"{FOLDER}/files", f"{FOLDER}/claims", f"{FOLDER}/condemned"
FORMAT = 1
T = TypeVar("T")


@dataclass(frozen=True)
class Claim:
    """The keys (`<origin>/<key>`) of the files that a savepoint in the making uses or makes."""

    format: Format
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Condemned:
    """The names of the files that a collection is about to delete: who takes a savepoint does not rely on them."""

    format: Format
    names: tuple[str, ...]


@dataclass(frozen=True)
class Objects:
    """The part of a manifest, of any format, that names its files in the content store: path in the savepoint -> name."""

    objects: Mapping[str, str] = field(default_factory=dict)


def origin(source: Storage) -> str:
    """16 hex digits for the folder of `source`, by whatever scheme."""
    return hashlib.sha256(source.url.partition("://")[2].encode()).hexdigest()[:16]


def key(source: Storage, file: Clone) -> str:
    """What every object with the content of `file` has before its maker."""
    identity = f"{file.source}\n{file.bytes}\n{file.tag}"
    return f"{origin(source)}/{hashlib.sha256(identity.encode()).hexdigest()[:32]}"


def key_of(name: str) -> str:
    return name.partition(".")[0]


def maker(savepoint: SavepointId) -> str:
    """A fresh end of the names that one try of taking `savepoint` gives."""
    return f"{savepoint}-{secrets.token_hex(4)}"


def path(name: str) -> str:
    """Where the object is in its home."""
    return paths.join(FILES, name)


def claim_file(savepoint: SavepointId) -> str:
    return paths.join(CLAIMS, f"{savepoint}.json")


def condemned_file() -> str:
    """A fresh one."""
    return paths.join(CONDEMNED, f"{secrets.token_hex(8)}.json")


def sizes(home: Storage, origin: str = "") -> Mapping[str, int]:
    """Bytes of each object that is there, by name; of one origin or all."""
    return {entry.path[len(FILES) + 1 :]: entry.bytes for entry in home.list(paths.join(FILES, origin))}


def condemned(home: Storage) -> Mapping[str, frozenset[str]]:
    """Path of each list of condemned objects -> their names. Raises Corrupt."""
    return {path: frozenset(document.names) for path, document in _documents(home, CONDEMNED, Condemned)}


def claimed(home: Storage) -> frozenset[str]:
    """Keys that savepoints in the making need. Raises Corrupt."""
    return frozenset(key for _, claim in _documents(home, CLAIMS, Claim) for key in claim.keys)


def named(home: Storage, savepoint: SavepointId) -> Mapping[str, str]:
    """Path in a savepoint -> name, of its files that are in the content store. Raises Corrupt; NotFound for one that is not published."""
    data = home.read(layout.inside(savepoint, layout.MANIFEST))
    objects = documents.decode(Objects, data, f"The manifest of savepoint {savepoint}").objects
    if not all(map(layout.is_object, objects.values())):
        raise Corrupt("savepoint.path", f"The manifest of savepoint {savepoint} names what is no object", layout.HINT)
    return objects


def _documents(home: Storage, folder: str, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Each document in `folder` that is still there."""
    for path in [entry.path for entry in home.list(folder)]:
        try:
            data = home.read(path)
        except NotFound:
            continue
        yield path, documents.decode(kind, data, path, FORMAT)


def by_key(names: Iterable[str]) -> Mapping[str, str]:
    """An object for each key: of several the same one whoever asks."""
    return {key_of(name): name for name in sorted(names, reverse=True)}
