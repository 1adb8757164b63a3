"""A file sink's log of the files it has written (FileStreamSinkLog, `<output>/_spark_metadata`): read it, cut it back to a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import compact_log, damage, logs
from pipelines.checkpoint.compact_log import LogBatch, LogNames
from pipelines.domain.errors import Corrupt
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
    """The log in `folder` of `storage` up to `batch`, of which it has an entry like of every batch; raises Corrupt where it has not.

    The compact file before the last is read too where it is there: from the distance of the two Spark takes the interval.
    """
    found = names(storage, folder)
    if found.newest is None:
        return SinkLog(())
    if min(found.singles | found.compacts) > batch:
        raise _compacted_away(found, batch)
    needed = list(compact_log.chain(found, batch, folder))
    before = sorted(compact for compact in found.compacts if compact < needed[0][0])
    if needed[0][1] and before:
        needed.insert(0, (before[-1], True))
    return SinkLog(tuple(compact_log.read_batch(storage, folder, one, compact) for one, compact in needed))


def whole(storage: Storage, folder: str = "") -> SinkLog:
    """The log in `folder` up to its newest batch; raises like `read`."""
    newest = names(storage, folder).newest
    return SinkLog(()) if newest is None else read(storage, newest, folder)


def names(storage: Storage, folder: str = "") -> LogNames:
    """What batches the log in `folder` has files of."""
    return compact_log.names(_files_in(storage, folder))


def holds(found: LogNames, batch: int) -> bool:
    """Whether the log can be cut back to `batch`: judged by names, as Spark deletes what is older than a compact file.

    What a compact file holds of earlier batches cannot be told apart again: its entries name no batch.
    """
    if found.newest is None:
        return True
    base = max((compact for compact in found.compacts if compact <= batch), default=-1)
    return all(one in found.singles for one in range(base + 1, batch + 1))


def _compacted_away(found: LogNames, batch: int) -> Corrupt:
    first = min(found.singles | found.compacts)
    return damage.missing(f"{FOLDER}/{batch}", f"the log begins with batch {first}: only batches from it on can still be had")


def _files_in(storage: Storage, folder: str) -> list[str]:
    return [paths.name(entry.path) for entry in storage.list(folder) if paths.parent(entry.path) == folder]


def live_files(log: SinkLog, batch: int) -> tuple[SinkFile, ...]:
    """The data files that a reader sees after `batch`, in the order written: those added and not deleted since."""
    entries = [_entry(one, line) for one in _since_last_compact(log, batch) for line in one.lines]
    deleted = {entry.path for entry in entries if entry.action == DELETE}
    return tuple(entry for entry in entries if entry.path not in deleted)


def check(path: str, data: bytes) -> None:
    """Reads every entry of one of the log's files; raises Corrupt, Unsupported."""
    for line in filter(None, logs.parse(path, data, compact_log.NEWEST).lines):
        _file(path, line)


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
    return _file(f"{FOLDER}/{compact_log.name(batch.id, batch.compact)}", line)


def _file(path: str, line: str) -> SinkFile:
    raw = logs.json_object(path, line)
    return SinkFile(
        path=logs.field(path, raw, "path", str),
        bytes=logs.field(path, raw, "size", int),
        modified_ms=logs.field(path, raw, "modificationTime", int),
        action=logs.field(path, raw, "action", str),
    )
