"""Clones of files as a watch is told of them: bytes where they are copied; links cost per file, and are one step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.domain.savepoints import StoredFile
from pipelines.storage import folders
from pipelines.storage.protocol import Clone, How, Storage, unwatched
from pipelines.storage.watching import Watch

FREE = {How.LINK, How.REFLINK}
LINKING, COPYING, SETTLING = "linking", "copying", "writing to disk"
"""Steps; the last is that of all that was cloned and written."""


def copied_bytes(source: Storage, target: Storage, files: Iterable[StoredFile]) -> int:
    """How many of the bytes of `files` will be copied, as far as can be said before."""
    return 0 if folders.expected_how(source, target) in FREE else sum(file.bytes for file in files)


def begin(watch: Watch, copied: int) -> None:
    """The step of cloning begins, of which so many bytes will be copied."""
    watch.step(COPYING if copied else LINKING, copied)


def clone(source: Storage, target: Storage, clones: Sequence[Clone], files: Sequence[StoredFile], watch: Watch) -> list[How]:
    """How each of `clones` was made; `files` are what they will be. A watch of links is told nothing: they are fast without it."""
    advance = watch.advance if copied_bytes(source, target, files) else unwatched
    return list(target.clone(source, clones, advance))


def added_bytes(files: Iterable[StoredFile], ways: Iterable[How]) -> int:
    """Bytes of those that were not linked."""
    return sum(file.bytes for file, how in zip(files, ways, strict=True) if how not in FREE)
