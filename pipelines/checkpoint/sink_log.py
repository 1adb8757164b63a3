"""A file sink's log of the files it has written (FileStreamSinkLog, `<output>/_spark_metadata`): read it, cut it back to a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import compact_log, damage, logs
from pipelines.checkpoint.compact_log import LogBatch, LogNames
from pipelines.domain import sinks
from pipelines.domain.errors import Corrupt
from pipelines.storage import paths
from pipelines.storage.protocol import Storage

FOLDER = sinks.LOG
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
    """The log in `folder` of `storage` up to `batch`; raises Corrupt where an entry of a batch is missing.

    The compact file before the last is read too where it is there: Spark takes the interval from the distance of the two.
    """
    log_names = names(storage, folder)
    if log_names.newest is None:
        return SinkLog(())
    if min(log_names.singles | log_names.compacts) > batch:
        raise _compacted_away(log_names, batch)
    needed = list(compact_log.chain(log_names, batch, folder))
    before = sorted(compact for compact in log_names.compacts if compact < needed[0][0])
    if needed[0][1] and before:
        needed.insert(0, (before[-1], True))
    return SinkLog(tuple(compact_log.read_batches(storage, folder, needed)))


def whole(storage: Storage, folder: str = "") -> SinkLog:
    """The log in `folder` up to its newest batch; raises like `read`."""
    newest = names(storage, folder).newest
    return SinkLog(()) if newest is None else read(storage, newest, folder)


def names(storage: Storage, folder: str = "") -> LogNames:
    """The batches that the log in `folder` has files of."""
    return compact_log.names(_files_in(storage, folder))


def holds(log_names: LogNames, batch: int) -> bool:
    """Whether the log can be cut back to `batch`, judged by names: Spark deletes files that are older than a compact file.

    Entries of a compact file name no batch, so those of earlier batches cannot be told apart.
    """
    if log_names.newest is None:
        return True
    base = max((compact for compact in log_names.compacts if compact <= batch), default=-1)
    return all(single in log_names.singles for single in range(base + 1, batch + 1))


def _compacted_away(log_names: LogNames, batch: int) -> Corrupt:
    first = min(log_names.singles | log_names.compacts)
    return damage.missing(f"{FOLDER}/{batch}", f"the log begins with batch {first}: only that batch and later ones can be restored")


def _files_in(storage: Storage, folder: str) -> list[str]:
    return [paths.name(entry.path) for entry in storage.list(folder) if paths.parent(entry.path) == folder]


def live_files(log: SinkLog, batch: int) -> tuple[SinkFile, ...]:
    """The data files that a reader sees after `batch`, in the order written: those added and not deleted since."""
    entries = [_entry(log_batch, line) for log_batch in _since_last_compact(log, batch) for line in log_batch.lines]
    deleted = {entry.path for entry in entries if entry.action == DELETE}
    return tuple(entry for entry in entries if entry.path not in deleted)


def entries(storage: Storage, batch: int, folder: str = "") -> tuple[SinkFile, ...]:
    """What one batch noted, where its own file is there; raises Corrupt, NotFound."""
    log_batch = compact_log.read_batch(storage, folder, batch, False)
    return tuple(_entry(log_batch, line) for line in log_batch.lines)


def check(path: str, data: bytes) -> None:
    """Reads every entry of one of the log's files; raises Corrupt, Unsupported."""
    for line in filter(None, logs.parse(path, data, compact_log.NEWEST).lines):
        _file(path, line)


def cut(log: SinkLog, batch: int) -> Mapping[str, bytes]:
    """The log's files if it had ended at `batch`: file name -> bytes; raises Corrupt where `log` begins only after it."""
    if log.batches and log.batches[0].id > batch:
        raise damage.missing(f"{FOLDER}/{batch}", "the log as read begins after it")
    kept: dict[str, Sequence[str]] = {
        compact_log.name(log_batch.id, log_batch.compact): log_batch.lines for log_batch in log.batches if log_batch.id <= batch
    }
    return compact_log.files(kept)


def _since_last_compact(log: SinkLog, batch: int) -> list[LogBatch]:
    up_to = [log_batch for log_batch in log.batches if log_batch.id <= batch]
    last = max((index for index, log_batch in enumerate(up_to) if log_batch.compact), default=0)
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
