"""A checkpoint's files, listed once: everything else asks this and not the storage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.checkpoint import damage
from pipelines.storage import paths
from pipelines.storage.protocol import ByFolder, Entry, Storage


@dataclass(frozen=True)
class Listing:
    """Folder -> file name -> entry."""

    folders: Mapping[str, Mapping[str, Entry]]
    children: Mapping[str, frozenset[str]]
    """Folder -> names of the folders in it."""

    def files(self, folder: str) -> Mapping[str, Entry]:
        """The files right in `folder`."""
        return self.folders.get(folder, {})

    def subfolders(self, folder: str) -> frozenset[str]:
        return self.children.get(folder, frozenset())

    def get(self, path: str) -> Entry | None:
        return self.files(paths.parent(path)).get(paths.name(path))

    def require(self, path: str, why: str) -> Entry:
        """The entry at `path`; raises Corrupt (missing) with `why` it is needed."""
        entry = self.get(path)
        if entry is None:
            raise damage.missing(path, why)
        return entry

    def below(self, folder: str) -> Iterator[Entry]:
        """Every file in `folder`, at any depth."""
        yield from self.files(folder).values()
        for name in self.subfolders(folder):
            yield from self.below(f"{folder}/{name}")

    def with_companions(self, path: str, why: str) -> list[Entry]:
        """`path` and its checksums: Spark's `x.crc` and Hadoop's `.x.crc` of both."""
        folder, _, name = path.rpartition("/")
        names = self.files(folder)
        if name not in names:
            raise damage.missing(path, why)
        companions = (f".{name}.crc", f"{name}.crc", f".{name}.crc.crc")
        return [names[each] for each in (name, *companions) if each in names]


def listed(storage: Storage, folder: str = "") -> Listing:
    """The files of `storage` below `folder` as they are now."""
    if isinstance(storage, ByFolder):
        found = {inner: entries for inner, entries in storage.by_folder(folder) if entries}
        return Listing(found, _children(found))
    return of(storage.list(folder))


def of(entries: Iterable[Entry]) -> Listing:
    """The listing of these files."""
    folders: dict[str, dict[str, Entry]] = defaultdict(dict)
    for entry in entries:
        parent, _, name = entry.path.rpartition("/")
        folders[parent][name] = entry
    return Listing(folders, _children(folders))


def _children(folders: Mapping[str, object]) -> dict[str, frozenset[str]]:
    children: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        inner = folder
        while inner:
            outer = paths.parent(inner)
            children[outer].add(paths.name(inner))
            inner = outer
    return {folder: frozenset(names) for folder, names in children.items()}
