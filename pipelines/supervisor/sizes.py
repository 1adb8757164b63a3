"""Samples of how large the checkpoints of running jobs are, a line each in the run's folder."""

from __future__ import annotations

import json
import os
from collections import Counter

from pipelines.domain.jobs import Run
from pipelines.storage.opening import open_storage
from pipelines.workspace.parts import Parts
from pipelines.workspace.tails import SIZES_FILE

EVERY_MS = 10_000
PARTS = {"state": "state_bytes", "offsets": "log_bytes", "commits": "log_bytes", "sources": "source_bytes"}
"""Folder of a query's checkpoint -> what its bytes are counted as."""


class Sampler:
    """Samples each run every ten seconds."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sampled_ms: dict[str, int] = {}

    def sample(self, run: Run) -> None:
        now_ms = self._parts.now_ms()
        if now_ms - self._sampled_ms.get(run.id, 0) >= EVERY_MS:
            self._sampled_ms[run.id] = now_ms
            self._append(run, {"at_ms": now_ms, **measure(run.checkpoints)})

    def drop(self, run: Run) -> None:
        self._sampled_ms.pop(run.id, None)

    def _append(self, run: Run, sizes: dict[str, int]) -> None:
        if not sizes["checkpoint_bytes"]:
            return
        path = self._parts.layout.run(run.job, run.id) / SIZES_FILE
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, json.dumps(sizes, separators=(",", ":")).encode() + b"\n")
        finally:
            os.close(descriptor)


def measure(checkpoints: str) -> dict[str, int]:
    """Bytes below `checkpoints` (a folder a query), whole and by part; hidden folders are not Spark's."""
    sizes = Counter({"checkpoint_bytes": 0, "state_bytes": 0, "log_bytes": 0, "source_bytes": 0})
    for entry in open_storage(checkpoints).list():
        query, _, path = entry.path.partition("/")
        if not query.startswith("."):
            sizes["checkpoint_bytes"] += entry.bytes
            part = PARTS.get(path.partition("/")[0])
            if part:
                sizes[part] += entry.bytes
    return dict(sizes)
