"""Changes that were sent with a key, a file each: written whole before the change begins, and again with its answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipelines.domain.errors import NotFound, Unavailable
from pipelines.domain.idempotency import KEPT_MS, MOST_BYTES, MOST_CALLS, KeptCall
from pipelines.storage import documents, paths
from pipelines.storage.addresses import open_storage

MOST_IN_MEMORY = 100
"""Where the disk takes nothing, so many are kept while this process lives: what frees it has to be possible."""
EVERY = 50
"""What need not be kept is deleted with every so manieth that is begun."""


class KeptCalls:
    """The calls in `folder`, which need not be there. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._storage = open_storage(str(folder))
        self._in_memory: dict[str, KeptCall] = {}
        self._begun = 0

    def find(self, name: str, now_ms: int) -> KeptCall | None:
        """What is kept under `name`; Corrupt where it cannot be read."""
        call = self._in_memory.get(name) or self._read(name)
        return None if call is None or call.is_past(now_ms) else call

    def begin(self, name: str, call: KeptCall) -> None:
        """Keeps a call that is about to begin, and deletes others that need not be kept."""
        if self._begun % EVERY == 0:
            self._prune(call.begun_ms)
        self._begun += 1
        self.keep(name, call)

    def keep(self, name: str, call: KeptCall) -> None:
        """Keeps it, on disk when this returns; in memory where the disk takes nothing."""
        try:
            self._storage.write(name, documents.encode(call))
            self._in_memory.pop(name, None)
        except Unavailable:
            self._in_memory[name] = call
            for oldest in list(self._in_memory)[:-MOST_IN_MEMORY]:
                del self._in_memory[oldest]

    def forget(self, name: str) -> None:
        """Keeps it no longer: nothing was begun."""
        self._in_memory.pop(name, None)
        (self._folder / name).unlink(missing_ok=True)

    def _read(self, name: str) -> KeptCall | None:
        try:
            return documents.decode(KeptCall, self._storage.read(name), name)
        except NotFound:
            return None

    def _prune(self, now_ms: int) -> None:
        for path in list(_too_many(self._folder, now_ms)):
            Path(path).unlink(missing_ok=True)


def _too_many(folder: Path, now_ms: int) -> Iterator[str]:
    """The paths of those that need not be kept: of each caller, of all, and by age."""
    if not folder.is_dir():
        return
    files = [(entry.stat(), entry) for entry in os.scandir(folder) if not entry.name.startswith(paths.TEMPORARY_PREFIX)]
    by_caller, total = Counter[str](), 0
    for status, entry in sorted(files, key=lambda file: file[0].st_mtime_ns, reverse=True):
        caller = entry.name.partition("-")[0]
        by_caller[caller] += 1
        total += status.st_size
        is_past = now_ms - status.st_mtime_ns // 1_000_000 > KEPT_MS
        if is_past or by_caller[caller] > MOST_CALLS or total > MOST_BYTES:
            yield entry.path
