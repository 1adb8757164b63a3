"""Clones files and reports progress to a watch: in bytes where they are copied; links cost per file, and are one step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.domain.savepoints import StoredFile
from pipelines.domain.watch import Watch
from pipelines.storage import folders
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
    return sum(file.bytes for file, how in zip(files, ways, strict=True) if how not in FREE)
