"""A parent's output files on their way to a fork, where one of both is at a home: within one storage its server copies them."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.watch import Watch
from pipelines.savepoint import clone
from pipelines.savepoint.restored_sinks import Brought
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone

BESIDE = 6
"""Listings of the savepoint and of the new checkpoints, and the mark of who makes them, which is written and deleted."""


def copied_bytes(brought: Brought) -> int:
    """What is written anew of it."""
    return clone.copied_bytes(open_storage(brought.root), open_storage(brought.to), brought.files)


def bring(brought: Brought, watch: Watch) -> int:
    """The files in the fork's own directory, as the log names them there; answers with the bytes that were written anew."""
    source, target = open_storage(brought.root), open_storage(brought.to)
    clone.begin(watch, copied_bytes(brought))
    clones = [Clone(file.path, file.path, file.bytes) for file in brought.files]
    return clone.added_bytes(brought.files, clone.clone(source, target, clones, brought.files, watch)) if clones else 0


def requests(cloned: int, written: int, brought: Sequence[Brought]) -> int:
    """About how many requests a restore into an object store takes."""
    return cloned + written + BESIDE + sum(len(each.files) for each in brought)
