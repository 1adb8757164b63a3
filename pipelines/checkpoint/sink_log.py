"""A file sink's log of the files it has written (FileStreamSinkLog, `<output>/_spark_metadata`): read it, cut it back to a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import compact_log, damage, logs
from pipelines.checkpoint.compact_log import LogBatch
from pipelines.storage import paths
from pipelines.storage.protocol import Storage

FOLDER = "_spark_metadata"
DELETE = "delete"


@dataclass(frozen=True)
class SinkFile:
    """One data file of the output, `path` as Spark wrote it (a URL of the output directory it was written to)."""

    path: str
    bytes: int
    modified_ms: int
    action: str


@dataclass(frozen=True)
class SinkLog:
    """The log's files that hold every entry up to a batch, oldest first; empty for a sink that has none."""

    batches: tuple[LogBatch, ...]


def read(storage: Storage, batch: int, folder: str = "") -> SinkLog:
    """The log in `folder` of `storage` up to `batch`; raises Corrupt where it is broken or incomplete.

    The compact file before the last is read too where it is there: from the distance of the two Spark takes the interval.
    """
    found = compact_log.names(_files_in(storage, folder))
    held = [one for one in found.singles | found.compacts if one <= batch]
    if not held:
        return SinkLog(())
    needed = list(compact_log.chain(found, max(held), folder))
    before = sorted(compact for compact in found.compacts if compact < needed[0][0])
    if needed[0][1] and before:
        needed.insert(0, (before[-1], True))
    return SinkLog(tuple(compact_log.read_batch(storage, folder, one, compact) for one, compact in needed))


def _files_in(storage: Storage, folder: str) -> list[str]:
    return [paths.name(entry.path) for entry in storage.list(folder) if paths.parent(entry.path) == folder]


def live_files(log: SinkLog, batch: int) -> tuple[SinkFile, ...]:
    """The data files that a reader sees after `batch`, in the order written: those added and not deleted since."""
    entries = [_entry(one, line) for one in _since_last_compact(log, batch) for line in one.lines]
    deleted = {entry.path for entry in entries if entry.action == DELETE}
    return tuple(entry for entry in entries if entry.path not in deleted)


def cut(log: SinkLog, batch: int) -> Mapping[str, bytes]:
    """The log's files if it had ended at `batch`: file name -> bytes; raises Corrupt where `log` begins only after it."""
    if log.batches and log.batches[0].id > batch:
        raise damage.missing(f"{FOLDER}/{batch}", "the log as read begins after it")
    kept: dict[str, Sequence[str]] = {compact_log.name(one.id, one.compact): one.lines for one in log.batches if one.id <= batch}
    return compact_log.files(kept)


def _since_last_compact(log: SinkLog, batch: int) -> list[LogBatch]:
    up_to = [one for one in log.batches if one.id <= batch]
    last = max((index for index, one in enumerate(up_to) if one.compact), default=0)
    return up_to[last:]


def _entry(batch: LogBatch, line: str) -> SinkFile:
    path = f"{FOLDER}/{compact_log.name(batch.id, batch.compact)}"
    raw = logs.json_object(path, line)
    return SinkFile(
        path=logs.field(path, raw, "path", str),
        bytes=logs.field(path, raw, "size", int),
        modified_ms=logs.field(path, raw, "modificationTime", int),
        action=logs.field(path, raw, "action", str),
    )
