"""Samples of how large the checkpoints of jobs are, a line each in the run's folder."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pipelines.domain.errors import TidemarkError
from pipelines.domain.jobs import Run
from pipelines.storage.addresses import open_storage
from pipelines.workspace.context import Context
from pipelines.workspace.ingestion import SIZES_FILE

EVERY_MS = 10_000
REMOTE_EVERY_MS = 120_000
"""At a home, where a listing is a request for each thousand files."""
PARTS = {"state": "state_bytes", "offsets": "log_bytes", "commits": "log_bytes", "sources": "source_bytes"}
"""Folder of a query's checkpoint -> what its bytes are counted as."""


class Sampler:
    """Samples each run every ten seconds, one at a home every two minutes, or at the pace that is asked for."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sampled_ms: dict[str, int] = {}

    def sample(self, run: Run) -> None:
        if self._context.holds(run.checkpoints):
            if self.due(run, EVERY_MS):
                self.note(run, measure(run.checkpoints))
        elif self.due(run, REMOTE_EVERY_MS):
            threading.Thread(target=self._sample_remote, args=(run,), name=f"sizes of {run.id}", daemon=True).start()

    def _sample_remote(self, run: Run) -> None:
        """Nobody waits for a storage that is away: what it does not tell now it tells the next time."""
        with suppress(TidemarkError):
            self.note(run, measure(run.checkpoints))

    def due(self, run: Run, every_ms: int) -> bool:
        """Whether the run's last sample is that long ago; if so, now counts as the time of its last sample."""
        now_ms = self._context.now_ms()
        due = now_ms - self._sampled_ms.get(run.id, 0) >= every_ms
        if due:
            self._sampled_ms[run.id] = now_ms
        return due

    def note(self, run: Run, sizes: dict[str, int]) -> None:
        """Appends a sample; nothing where there is no checkpoint yet."""
        if sizes["checkpoint_bytes"]:
            append(
                self._context.layout.run(run.job, run.id) / SIZES_FILE,
                [json.dumps({"at_ms": self._context.now_ms(), **sizes}, separators=(",", ":"))],
            )

    def drop(self, run: Run) -> None:
        self._sampled_ms.pop(run.id, None)


def append(path: Path, lines: Iterable[str]) -> None:
    """Whole lines in one write; after a torn one (a kill, a full disk) on a line of their own."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = b"\n" * torn + "".join(f"{line}\n" for line in lines).encode()
        if os.write(descriptor, data) != len(data):
            raise OSError(f"{path}: the disk took only a part of a line")
    finally:
        os.close(descriptor)


def measure(checkpoints: str) -> dict[str, int]:
    """Bytes below `checkpoints` (a folder a query), whole and by part; hidden folders are not Spark's."""
    entries = ((entry.path.partition("/"), entry.bytes) for entry in open_storage(checkpoints).list())
    return _counted((inner, size) for (query, _, inner), size in entries if not query.startswith("."))


def measure_each(checkpoints: Iterable[str]) -> dict[str, int]:
    """The same of `checkpoints` anywhere, each of one query."""
    return _counted((entry.path, entry.bytes) for checkpoint in checkpoints for entry in open_storage(checkpoint).list())


def _counted(files: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Sums of (path in a query's checkpoint, bytes)."""
    sizes = Counter({"checkpoint_bytes": 0, "state_bytes": 0, "log_bytes": 0, "source_bytes": 0})
    for path, size in files:
        sizes["checkpoint_bytes"] += size
        part = PARTS.get(path.partition("/")[0])
        if part:
            sizes[part] += size
    return dict(sizes)
