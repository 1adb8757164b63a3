"""The commit log: one entry a committed batch (CommitLog: v1, v2 with state ids, v3 with sinks)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.checkpoint import damage, logs
from pipelines.storage.protocol import Storage

FOLDER = "commits"
NEWEST = 3

StateIds = Mapping[int, tuple[tuple[str, ...], ...]]
"""Operator -> partition -> the id of each store's new version."""


@dataclass(frozen=True)
class Commit:
    """One entry. `state_unique_ids` is empty unless the checkpoint has format 2."""

    batch: int
    version: int
    next_batch_watermark_ms: int
    state_unique_ids: StateIds


def path(batch: int) -> str:
    return f"{FOLDER}/{batch}"


def parse(batch: int, data: bytes) -> Commit:
    """The entry of `batch`; raises Corrupt, Unsupported."""
    file, raw = logs.headed(path(batch), data, NEWEST)
    ids: dict[str, Any] = logs.field(file.path, raw, "stateUniqueIds", dict, {})
    return Commit(batch, file.version, logs.field(file.path, raw, "nextBatchWatermarkMs", int, 0), _state_ids(file.path, ids))


def read(storage: Storage, batch: int) -> Commit:
    return parse(batch, storage.read(path(batch)))


def _state_ids(file: str, raw: Mapping[str, Any]) -> StateIds:
    return {_operator(file, operator): _partitions(file, partitions) for operator, partitions in raw.items()}


def _operator(file: str, text: str) -> int:
    if not logs.is_number(text):
        raise damage.malformed(file, f"operator {text[:20]!r} is no number")
    return int(text)


def _partitions(file: str, raw: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(raw, list) or not all(isinstance(ids, list) and all(isinstance(state_id, str) for state_id in ids) for ids in raw):
        raise damage.malformed(file, "its state ids are not lists of text")
    return tuple(tuple(ids) for ids in raw)
