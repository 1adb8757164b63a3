"""A parent's output files on their way to a fork, where one of both is at a home: within one storage its server copies them."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.watch import Watch
from pipelines.savepoint import clone
from pipelines.savepoint.clone import Transfer
from pipelines.savepoint.restored_sinks import Brought
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone, Storage

BESIDE = 6
"""Listings of the savepoint and of the new checkpoints, and the mark of who makes them, which is written and deleted."""


def transfer(brought: Brought) -> Transfer:
    """The files for the fork's own directory, as the log names them there."""
    clones = [Clone(file.path, file.path, file.bytes) for file in brought.files]
    return Transfer(open_storage(brought.root), clones, tuple(brought.files))


def bring(brought: Brought, target: Storage, watch: Watch) -> int:
    """The files in the fork's own directory, which is `target`; answers with the bytes that were written anew."""
    moved = transfer(brought)
    return sum(clone.added_bytes(moved.files, ways) for ways in clone.all_of(target, [moved], watch)) if moved.clones else 0


def requests(cloned: int, written: int, brought: Sequence[Brought]) -> int:
    """About how many requests a restore into an object store takes."""
    return cloned + written + BESIDE + sum(len(each.files) for each in brought)
