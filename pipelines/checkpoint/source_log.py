"""A file source's log of the files it has seen (FileStreamSourceLog): read it, and cut it back to an offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import compact_log, logs
from pipelines.checkpoint.compact_log import LogBatch, LogNames
from pipelines.domain.errors import Corrupt
from pipelines.storage.protocol import Storage


@dataclass(frozen=True)
class SourceFile:
    """One file that the source has seen. `line` is the entry as Spark wrote it, so that fields yet unknown survive a cut."""

    path: str
    timestamp_ms: int
    batch: int
    line: str


@dataclass(frozen=True)
class SourceLog:
    """Every entry up to an offset, in the log's order. `interval` is that of its compact files, None where there is none."""

    entries: tuple[SourceFile, ...]
    interval: int | None


def offset_of(offset: str | None) -> int | None:
    """The log's last batch that `offset` covers (FileStreamSourceOffset), None where it is no file source's offset."""
    if offset is None:
        return None
    try:
        raw = logs.json_object("offset", offset)
        return logs.field("offset", raw, "logOffset", int) if raw.keys() == {"logOffset"} else None
    except Corrupt:
        return None


def read(storage: Storage, folder: str, log_names: LogNames, offset: int) -> SourceLog:
    """The log in `folder` up to `offset`; raises Corrupt where it is broken or incomplete.

    A later compact file will do where those up to `offset` were deleted: every entry says which batch it is of.
    """
    later = min((compact for compact in log_names.compacts if compact > offset), default=None)
    try:
        needed = compact_log.chain(log_names, offset, folder)
    except Corrupt:
        if later is None:
            raise
        needed = ((later, True),)
    batches = compact_log.read_batches(storage, folder, needed)
    entries = tuple(entry for batch in batches for entry in _entries(folder, batch) if entry.batch <= offset)
    return SourceLog(entries, compact_log.interval(log_names.compacts, offset))


def _entries(folder: str, batch: LogBatch) -> list[SourceFile]:
    path = f"{folder}/{compact_log.name(batch.id, batch.compact)}"
    return [_entry(path, line) for line in batch.lines]


def _entry(path: str, line: str) -> SourceFile:
    raw = logs.json_object(path, line)
    return SourceFile(
        path=logs.field(path, raw, "path", str),
        timestamp_ms=logs.field(path, raw, "timestamp", int),
        batch=logs.field(path, raw, "batchId", int),
        line=line,
    )


def check(path: str, data: bytes) -> None:
    """Reads every entry of one of the log's files; raises Corrupt, Unsupported."""
    for line in filter(None, logs.parse(path, data, compact_log.NEWEST).lines):
        _entry(path, line)


def cut(log: SourceLog, offset: int) -> Mapping[str, bytes]:
    """The log's files if it had ended at `offset`: file name -> bytes.

    The last two compact files are made, because Spark takes the interval from them, and single files only since the older one:
    a restart asks for no earlier.
    """
    by_batch: dict[int, list[str]] = {}
    for entry in log.entries:
        by_batch.setdefault(entry.batch, []).append(entry.line)
    compacts = _compacts(log.interval, offset)
    batches: dict[str, Sequence[str]] = {}
    for compact in compacts:
        batches[compact_log.name(compact, True)] = [entry.line for entry in log.entries if entry.batch <= compact]
    first = compacts[0] + 1 if len(compacts) == 2 else 0
    for batch in range(first, offset + 1):
        if batch not in compacts:
            batches[compact_log.name(batch, False)] = by_batch.get(batch, [])
    return compact_log.files(batches)


def _compacts(interval: int | None, offset: int) -> list[int]:
    """The last two batches up to `offset` that are compacted: those whose successor is a multiple of the interval."""
    if interval is None:
        return []
    newest = (offset + 1) // interval * interval - 1
    return [compact for compact in (newest - interval, newest) if compact >= 0]
