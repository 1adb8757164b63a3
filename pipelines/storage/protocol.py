"""What the engine asks of a storage: whole files under one root, named by relative POSIX paths.

A path is `a/b/c`: no leading slash, no `..`, no empty part; `storage.paths.relative` checks it (raises Invalid). A missing file
raises `NotFound` (code `storage.not_found`), everything else that the storage refuses raises `Unavailable` with a hint.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Entry(NamedTuple):
    """One file: its path relative to the storage's root, its size, when it was last written.

    `tag` is another one for other content (S3's ETag); empty where the storage has none. `inode` is the file's number on a local disk:
    the same name with the same number is the same file. 0 elsewhere.
    """

    path: str
    bytes: int
    modified_ms: int
    tag: str = ""
    inode: int = 0


class How(enum.StrEnum):
    """How a file was cloned. Only `LINK` and `REFLINK` cost no new bytes."""

    LINK = "link"
    REFLINK = "reflink"
    SERVER_COPY = "server-copy"
    CLUSTER_COPY = "cluster-copy"
    """By a job on a cluster, where the storage copies nothing by itself."""
    COPY = "copy"


class Clone(NamedTuple):
    """One file to clone: `source` in the storage it comes from, `target` in the one it goes to.

    Where its `bytes` are known (not negative) a server need not be asked for them; with a `tag` nothing but that content is copied.
    A link of it has its `inode`, where that is known (not 0).
    """

    source: str
    target: str
    bytes: int = -1
    tag: str = ""
    inode: int = 0


Advance = Callable[[int], None]
"""Told the bytes of each piece when it is there; called from several threads, and what it raises (a cancel) ends the work."""


def unwatched(done: int) -> None:
    """The `Advance` of work that nobody watches."""


@runtime_checkable
class Refers(Protocol):
    """A storage that keeps some of its files at other paths of another one."""

    def referred(self, files: Sequence[Clone]) -> tuple[Storage, Sequence[Clone]]:
        """The storage that they are in, and they with their paths there."""
        ...


@runtime_checkable
class ByFolder(Protocol):
    """A storage that is listed folder by folder."""

    def by_folder(self, folder: str = "") -> Iterator[tuple[str, dict[str, Entry]]]:
        """Every folder at and below `folder`, and in each the files right in it by their names."""
        ...


class Storage(Protocol):
    """A tree of immutable files under `url`."""

    @property
    def url(self) -> str:
        """Absolute path (local) or URL of the root."""
        ...

    def read(self, path: str) -> bytes: ...

    def list(self, folder: str = "") -> Iterator[Entry]:
        """Every file below `folder`, at any depth, in no order. A folder that does not exist has none."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Writes a file, whole or not at all: aside, flushed to disk, renamed; replaces what was there."""
        ...

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Iterable[How]:
        """Clones each of `files` from `source`, by the cheapest way both allow, in order. A vanished source raises NotFound.

        `advance` is told the bytes of each piece that is copied, and of each whole file that is linked or copied by the server: in
        sum the size of all `files`. What it raises goes on to the caller, soon; files cloned before stay, none of them is half.
        """
        ...

    def delete(self, paths: Iterable[str]) -> None:
        """Deletes these files, and the folders that became empty; one that is already gone is no error."""
        ...


def origin(source: Storage, files: Sequence[Clone]) -> tuple[Storage, Sequence[Clone]]:
    """The storage that has the bytes of `files`, and they with their paths there."""
    return source.referred(files) if isinstance(source, Refers) else (source, files)
