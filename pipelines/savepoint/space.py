"""The disk space of savepoints, exact to the hard link. Reflinked files count as files of their own: no system call tells whose blocks
they share, so on such a file system what is freed is an upper bound, and what is shared a lower one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.domain.ids import SavepointId
from pipelines.domain.space import SavepointSpace, Space
from pipelines.savepoint import shelves
from pipelines.savepoint.shelves import Shelf
from pipelines.storage.inodes import Inode, inodes
from pipelines.storage.protocol import Storage


@dataclass(frozen=True)
class Held:
    """The files that some folders hold: each once, with how many of its names are in them."""

    names: Counter[Inode]

    @property
    def full_bytes(self) -> int:
        """Bytes that copies of all the names would take."""
        return sum(node.bytes * names for node, names in self.names.items())

    @property
    def frees_bytes(self) -> int:
        """Bytes that deleting all of them frees: the files that have no name anywhere else."""
        return sum(node.bytes for node, names in self.names.items() if names >= node.links)


def held(library: Storage, savepoint: SavepointId) -> Held:
    """The inodes of one savepoint, with its manifest and the documents beside it; at a home those that it shares there too."""
    return Held(Counter(shelves.inodes(library, savepoint) if isinstance(library, Shelf) else inodes(library, savepoint)))


def space(library: Storage, savepoints: Sequence[SavepointId]) -> Space:
    """The space of `savepoints`, in their order: each by itself, and all together. One that is disposed of meanwhile counts as nothing."""
    holdings = [held(library, savepoint) for savepoint in savepoints]
    together = _together(holdings)
    holders = Counter(node for holding in holdings for node in holding.names)
    return Space(
        savepoints=tuple(
            SavepointSpace(name, holding.full_bytes, holding.frees_bytes) for name, holding in zip(savepoints, holdings, strict=True)
        ),
        full_bytes=sum(holding.full_bytes for holding in holdings),
        disk_bytes=sum(node.bytes for node in together.names),
        frees_bytes=together.frees_bytes,
        shared_bytes=sum(node.bytes for node, count in holders.items() if count > 1),
    )


def frees_together(holdings: Iterable[Held]) -> int:
    """Bytes that disposing of all of them gives back: files that only they share among themselves are freed too."""
    return _together(holdings).frees_bytes


def _together(holdings: Iterable[Held]) -> Held:
    names: Counter[Inode] = Counter()
    for holding in holdings:
        names.update(holding.names)
    return Held(names)
