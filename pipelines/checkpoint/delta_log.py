"""A Delta table's log (`<table>/_delta_log`, Delta's PROTOCOL.md): which version has a query's batch, and the files of a version.

Commits and checkpoints are written once. A commit of a streaming query carries `txn`: the query's id and its batch.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from pipelines.checkpoint import damage, logs
from pipelines.domain import delta
from pipelines.domain.errors import Unsupported
from pipelines.storage import paths
from pipelines.storage.protocol import Entry, Storage

FOLDER = delta.LOG
READER_VERSION = 3
FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)
"""Of readers: those with which a version is its commits, its checkpoint and its data files, with deletion vectors refused one by one."""
MAPPING = "delta.columnMapping.mode"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_COLUMNS = ("txn.appId", "txn.version", "add.path", "add.size", "add.deletionVector", "protocol", "metaData.configuration")


@dataclass(frozen=True)
class LogNames:
    """The files of a log, by version: its commits and its whole checkpoints."""

    commits: Mapping[int, Entry]
    checkpoints: Mapping[int, tuple[Entry, ...]]

    @property
    def newest(self) -> int:
        """The newest version, -1 for a table that is not there."""
        return max(self.commits, default=-1)

    def needed(self, version: int) -> tuple[Entry, ...]:
        """The files from which `version` is read: the newest checkpoint up to it, and each commit after that. Raises Corrupt for a gap."""
        base = max((number for number in self.checkpoints if number <= version), default=-1)
        gone = next((number for number in range(base + 1, version + 1) if number not in self.commits), None)
        if gone is not None:
            raise damage.missing(commit_path(gone), f"version {version} of the table cannot be read without it")
        return (*self.checkpoints.get(base, ()), *(self.commits[number] for number in range(base + 1, version + 1)))


@dataclass
class Snapshot:
    """One version of a table. `files`: path below the table -> size."""

    version: int
    transactions: dict[str, int] = field(default_factory=dict)
    """Query id -> its newest batch."""
    files: dict[str, int] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)


def commit_path(version: int) -> str:
    return f"{FOLDER}/{version:020d}.json"


def names(entries: Iterable[Entry]) -> LogNames:
    """The log among the files of a table."""
    commits: dict[int, Entry] = {}
    parts: dict[tuple[int, int], list[Entry]] = {}
    for entry in entries:
        name = paths.name(entry.path)
        if paths.parent(entry.path) != FOLDER:
            continue
        if match := _COMMIT.fullmatch(name):
            commits[int(match[1])] = entry
        elif match := _CHECKPOINT.fullmatch(name):
            parts.setdefault((int(match[1]), int(match[3] or 1)), []).append(entry)
    whole = {version: tuple(held) for (version, count), held in parts.items() if len(held) == count}
    return LogNames(commits, whole)


def version_of(storage: Storage, log: LogNames, query_id: str, batch: int) -> int:
    """The version that has what the query wrote up to `batch`, and none of its later batches; -1 where the table began with those."""
    later = log.newest + 1
    for version in sorted(log.commits, reverse=True):
        written = _batch(storage, log.commits[version].path, query_id)
        if written is not None and written <= batch:
            return version
        later = later if written is None else version
    return later - 1


def snapshot(storage: Storage, log: LogNames, version: int) -> Snapshot:
    """The table as of `version`; raises Corrupt for a gap or a damaged file, Unsupported for what is not known or lies elsewhere."""
    table = Snapshot(version)
    files: dict[tuple[str, str], int] = {}
    for entry in log.needed(version):
        for action in actions(storage, entry.path):
            _apply(table, files, entry.path, action)
    for (path, vector), size in files.items():
        if vector:
            raise _unsupported(f"{path} has a deletion vector")
        table.files[_inside(path)] = size
    return table


def _batch(storage: Storage, path: str, query_id: str) -> int | None:
    """The batch of the query that a commit wrote; None for a commit of others."""
    for line in logs.decoded(path, storage.read(path)).splitlines():
        if '"txn"' not in line:
            continue
        transaction = logs.field(path, logs.json_object(path, line), "txn", dict, {})
        if transaction.get("appId") == query_id:
            return logs.field(path, transaction, "version", int)
    return None


def actions(storage: Storage, path: str, columns: Sequence[str] = _COLUMNS) -> Iterator[Mapping[str, Any]]:
    """The actions of a commit; of a checkpoint these `columns` of them."""
    data = storage.read(path)
    if path.endswith(".parquet"):
        yield from _rows(path, data, columns)
        return
    for line in filter(None, logs.decoded(path, data).splitlines()):
        yield logs.json_object(path, line)


def _rows(path: str, data: bytes, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    import pyarrow
    from pyarrow import parquet

    try:
        for group in parquet.ParquetFile(io.BytesIO(data)).iter_batches(columns=list(columns)):
            yield from group.to_pylist()
    except pyarrow.ArrowException as error:
        raise damage.malformed(path, str(error)) from error


def _apply(table: Snapshot, files: dict[tuple[str, str], int], path: str, action: Mapping[str, Any]) -> None:
    if added := action.get("add"):
        files[_key(path, added)] = logs.field(path, added, "size", int)
    if removed := action.get("remove"):
        files.pop(_key(path, removed), None)
    if transaction := action.get("txn"):
        table.transactions[logs.field(path, transaction, "appId", str)] = logs.field(path, transaction, "version", int)
    if protocol := action.get("protocol"):
        _check(protocol)
    if described := action.get("metaData"):
        table.configuration = dict(described.get("configuration") or {})


def _key(path: str, action: Mapping[str, Any]) -> tuple[str, str]:
    vector = action.get("deletionVector")
    return logs.field(path, action, "path", str), json.dumps(vector, sort_keys=True) if vector else ""


def _check(protocol: Mapping[str, Any]) -> None:
    unknown = sorted(set(protocol.get("readerFeatures") or ()) - FEATURES)
    version = protocol.get("minReaderVersion")
    if unknown or not isinstance(version, int) or version > READER_VERSION:
        raise _unsupported(f"it asks its readers for {', '.join(unknown) or f'version {version}'}")


def _inside(path: str) -> str:
    inner = unquote(path)
    if urlsplit(path).scheme or inner.startswith("/") or ".." in inner.split("/"):
        raise _unsupported(f"its file {path} lies outside of it, as those of a shallow clone do")
    return inner


def _unsupported(why: str) -> Unsupported:
    hint = "Fork with the sink fresh, or read it with Spark."
    return Unsupported("delta.not_supported", f"Tidemark does not know all of this Delta table: {why}", hint)
