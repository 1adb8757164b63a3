"""A home whose savepoints share files: what a manifest names in the content store is read there, as if it were in the savepoint's
folder."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import BinaryIO, Protocol, runtime_checkable

from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import collection, layout, objects
from pipelines.storage import copies, folders, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.inodes import Inode
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, unwatched

SHARED = "/queries/"
"""What is copied from a job's own storage lies there in a savepoint."""


@runtime_checkable
class Copying(Protocol):
    """A storage that copies by itself, and knows the content of each file by its tag."""

    def copies_from(self, source: Storage) -> bool: ...


class Shelf:
    """`Storage` of a home's savepoints, or of a folder in one of them."""

    def __init__(self, home: Storage, folder: str = "") -> None:
        self.home, self._folder = home, folder
        self.needs = collection.Needs(home)
        self._named: dict[str, Mapping[str, str]] = {}

    @property
    def url(self) -> str:
        return f"{self.home.url}/{self._folder}" if self._folder else self.home.url

    def shares(self, source: Storage, clones: Iterable[Clone]) -> bool:
        """Whether copies of these files can be shared."""
        return isinstance(self.home, Copying) and self.home.copies_from(source) and all(clone.tag for clone in clones)

    def read(self, path: str) -> bytes:
        return self.home.read(self._place(path))

    def stream(self, path: str) -> BinaryIO:
        return self._streams.stream(self._place(path))

    def writing(self, path: str) -> AbstractContextManager[BinaryIO]:
        return self._streams.writing(self._at(path))

    def list(self, folder: str = "") -> Iterator[Entry]:
        at, published = self._at(folder), False
        savepoint, _, inner = at.partition("/")
        for entry in self.home.list(at):
            published = published or entry.path == f"{savepoint}/{layout.MANIFEST}"
            yield entry._replace(path=self._relative(entry.path))
        if published or f"/{inner}/".startswith(SHARED):
            yield from self._shared(SavepointId(savepoint), at)

    def _shared(self, savepoint: SavepointId, folder: str) -> Iterator[Entry]:
        names = {layout.inside(savepoint, path): name for path, name in self._names(savepoint).items()}
        inside = {path: name for path, name in names.items() if path.startswith(f"{folder}/")}
        origins = {paths.parent(name) for name in inside.values()}
        there = {entry.path: entry for origin in sorted(origins) for entry in self.home.list(objects.path(origin))}
        for path, name in inside.items():
            if (entry := there.get(objects.path(name))) is not None:
                yield entry._replace(path=self._relative(path))

    def write(self, path: str, data: bytes) -> None:
        self.home.write(self._at(path), data)

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Iterable[How]:
        return self.home.clone(source, [file._replace(target=self._at(file.target)) for file in files], advance)

    def referred(self, files: Sequence[Clone]) -> tuple[Storage, Sequence[Clone]]:
        return self.home, [file._replace(source=self._place(file.source)) for file in files]

    def delete(self, paths: Iterable[str]) -> None:
        self.home.delete([self._at(path) for path in paths])

    def children(self, folder: str = "") -> builtins.list[str]:
        return folders.children(self.home, self._at(folder))

    def remove(self, folder: str) -> None:
        folders.remove(self.home, self._at(folder))

    def sweep(self, folder: str = "") -> int:
        return folders.sweep(self.home, self._at(folder))

    @property
    def _streams(self) -> copies.Streams:
        assert isinstance(self.home, copies.Streams), "every storage that copies by itself streams"
        return self.home

    def _at(self, path: str) -> str:
        return "/".join(part for part in (self._folder, path) if part)

    def _relative(self, path: str) -> str:
        return path[len(self._folder) + 1 :] if self._folder else path

    def _place(self, path: str) -> str:
        """Where the bytes of `path` are."""
        at = self._at(path)
        savepoint, shared, inner = at.partition(SHARED)
        name = self._names(SavepointId(savepoint)).get(shared[1:] + inner) if shared and "/" not in savepoint else None
        return at if name is None else objects.path(name)

    def _names(self, savepoint: SavepointId) -> Mapping[str, str]:
        """Of a damaged manifest none: readers of savepoints have looked at it before."""
        if savepoint not in self._named:
            with suppress(Corrupt, NotFound):
                self._named[savepoint] = objects.named(self.home, savepoint)
        return self._named.get(savepoint, {})


def open_shelf(url: str) -> Storage:
    """The storage of the savepoints at `url`, which share files where it can copy them by itself. Raises like `open_storage`."""
    return shelved(open_storage(url))


def shelved(home: Storage) -> Storage:
    return Shelf(home) if isinstance(home, Copying) else home


def open_inside(library: Storage, folder: str) -> Storage:
    """A folder in one of the savepoints of `library` as a storage of its own."""
    return Shelf(library.home, folder) if isinstance(library, Shelf) else open_storage(f"{library.url}/{folder}")


def own(library: Storage) -> Storage:
    """The storage of what lies in the folders of savepoints themselves."""
    return library.home if isinstance(library, Shelf) else library


def inodes(shelf: Shelf, savepoint: SavepointId) -> Iterator[Inode]:
    """The files of a savepoint's folder, and the objects that it names: each has as many links as savepoints need it."""
    for entry in shelf.home.list(savepoint):
        yield Inode(f"{shelf.home.url}/{entry.path}", 1, entry.bytes)
    with suppress(Corrupt, NotFound):
        names = frozenset(objects.named(shelf.home, savepoint).values())
        links = shelf.needs.counted(names)
        origins = sorted({paths.parent(name) for name in names})
        for name, size in [pair for origin in origins for pair in objects.sizes(shelf.home, origin).items()]:
            if name in names:
                yield Inode(f"{shelf.home.url}/{objects.path(name)}", links[name], size)
