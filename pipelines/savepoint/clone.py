"""Clones files and reports progress to a watch: in bytes where they are copied; links cost per file, and are one step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.domain.savepoints import StoredFile
from pipelines.domain.watch import Watch
from pipelines.storage import folders
from pipelines.storage.carrying import Carries
from pipelines.storage.protocol import Clone, How, Storage

SHARED = "shared"
"""How a file came into a savepoint that its home had already."""
FREE = {How.LINK, How.REFLINK}
LINKING, COPYING, SETTLING = "linking", "copying", "writing to disk"
"""Steps; the last is that of all that was cloned and written."""


def copied_bytes(source: Storage, target: Storage, files: Iterable[StoredFile]) -> int:
    """Bytes of `files` that will be copied rather than linked, as expected before the clone."""
    return 0 if folders.expected_how(source, target) in FREE else sum(file.bytes for file in files)


def begin(watch: Watch, copied: int) -> None:
    """Reports the step of cloning, with the bytes that will be copied."""
    watch.step(COPYING if copied else LINKING, copied)


@dataclass(frozen=True)
class Transfer:
    """Files of one storage to clone, and what each will be."""

    source: Storage
    clones: Sequence[Clone]
    files: Sequence[StoredFile]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class Expected:
    """How files will be cloned, the bytes that will be copied, and those of them that pass through this server."""

    ways: tuple[How, ...]
    """Of each transfer."""
    copied_bytes: int
    server_bytes: int


def expect(target: Storage, transfers: Sequence[Transfer]) -> Expected:
    """What `all_of` will do, as far as can be said before it is done."""
    ones = (next((file.source for file in transfer.clones), "") for transfer in transfers)
    ways = tuple(
        How.CLUSTER_COPY if is_carried else folders.expected_how(transfer.source, target, one)
        for transfer, is_carried, one in zip(transfers, _carried(target, transfers), ones, strict=True)
    )
    sizes = [(how, transfer.bytes) for how, transfer in zip(ways, transfers, strict=True)]
    copied = sum(size for how, size in sizes if how is not How.LINK and how is not How.REFLINK)
    through = sum(size for how, size in sizes if how is How.COPY)
    return Expected(ways, copied, through)


def all_of(target: Storage, transfers: Sequence[Transfer], watch: Watch) -> list[list[How]]:
    """How each file of each transfer was made. What the target's carrier copies goes first, in one piece of work."""
    begin(watch, expect(target, transfers).copied_bytes)
    carried = _carried(target, transfers)
    if isinstance(target, Carries) and any(carried):
        moved = [transfer for transfer, is_carried in zip(transfers, carried, strict=True) if is_carried]
        target.carry([(transfer.source, file) for transfer in moved for file in transfer.clones], watch.advance)
    return [
        [How.CLUSTER_COPY] * len(transfer.clones) if is_carried else clone(transfer.source, target, transfer.clones, transfer.files, watch)
        for transfer, is_carried in zip(transfers, carried, strict=True)
    ]


def _carried(target: Storage, transfers: Sequence[Transfer]) -> list[bool]:
    """Which of them the target's carrier copies: all that it can, if together they are worth it."""
    least = [target.carried_bytes(transfer.source) if isinstance(target, Carries) else None for transfer in transfers]
    total = sum(transfer.bytes for transfer, bytes_ in zip(transfers, least, strict=True) if bytes_ is not None)
    return [bytes_ is not None and total >= bytes_ and bool(transfer.clones) for transfer, bytes_ in zip(transfers, least, strict=True)]


def clone(source: Storage, target: Storage, clones: Sequence[Clone], files: Sequence[StoredFile], watch: Watch) -> list[How]:
    """How each of `clones` was made; `files` are what they will be. A watch of links is told nothing: they are fast without it.

    The first file tells whether links are as possible as they seem: not every file system has them, nor has every user.
    """
    if copied_bytes(source, target, files):
        return list(target.clone(source, clones, watch.advance))
    first = list(target.clone(source, clones[:1]))
    if FREE.issuperset(first):
        return [*first, *target.clone(source, clones[1:])]
    watch.step(COPYING, sum(file.bytes for file in files[1:]))
    return [*first, *target.clone(source, clones[1:], watch.advance)]


def added_bytes(files: Iterable[StoredFile], ways: Iterable[How]) -> int:
    """Bytes of those that were not linked."""
    return sum(file.bytes for file, how in zip(files, ways, strict=True) if how is not How.LINK and how is not How.REFLINK)
