"""What a query that reads a Delta table needs of it from a position on: commits of its log, and the files that those added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.checkpoint import delta_log, logs
from pipelines.checkpoint.delta_log import LogNames
from pipelines.domain.delta import Position
from pipelines.storage.protocol import Storage


@dataclass(frozen=True)
class Described:
    """A table as its newest version says it."""

    id: str
    configuration: Mapping[str, str]


@dataclass(frozen=True)
class Needed:
    """What lies after a position. `gone`: versions whose commits are not there; `files`: path, as in the log, -> when it was removed
    again (epoch ms), None for one that the table still has; `deleting` and `rewriting`: versions that remove rows, without and with adding
    some: at these a source may fail."""

    gone: tuple[int, ...]
    newest: int
    files: Mapping[str, int | None] = field(default_factory=dict)
    deleting: tuple[int, ...] = ()
    rewriting: tuple[int, ...] = ()


def described(storage: Storage, log: LogNames) -> Described:
    """The table's id and configuration; raises Corrupt where its log does not say them."""
    metadata: Mapping[str, Any] = {}
    for entry in log.needed(log.newest):
        for action in delta_log.actions(storage, entry.path, ("metaData.id", "metaData.configuration")):
            metadata = action.get("metaData") or metadata
    path = delta_log.commit_path(log.newest)
    return Described(logs.field(path, metadata, "id", str), dict(metadata.get("configuration") or {}))


def needed(storage: Storage, log: LogNames, begin: Position, at: Position) -> Needed:
    """What is needed to go on from `at`, where Spark plans the last batch again, which began at `begin`: that one's commits, none of its
    files. Raises Corrupt for a snapshot that cannot be read any more."""
    first = begin.version + 1 if begin.in_snapshot else begin.version
    gone = tuple(version for version in range(first, log.newest + 1) if version not in log.commits)
    if gone:
        return Needed(gone, log.newest)
    if begin.in_snapshot:
        log.needed(begin.version)
    files: dict[str, int | None] = dict.fromkeys(_of_version(storage, log, at)[at.read :])
    deleting: list[int] = []
    rewriting: list[int] = []
    for version in range(at.version + at.in_snapshot, log.newest + 1):
        actions = list(delta_log.actions(storage, log.commits[version].path))
        if version > at.version:
            _follow(files, actions)
        if _changes(actions, "remove"):
            (rewriting if _changes(actions, "add") else deleting).append(version)
    return Needed((), log.newest, files, tuple(deleting), tuple(rewriting))


def _of_version(storage: Storage, log: LogNames, at: Position) -> list[str]:
    """The files of the position's own version, in the order in which Delta counts them."""
    if at.in_snapshot:
        return _snapshot(storage, log, at.version)
    return list(_additions(storage, log.commits[at.version].path)) if at.version in log.commits else []


def _follow(files: dict[str, int | None], actions: Sequence[Mapping[str, Any]]) -> None:
    """Puts what a later version adds to `files`, and when it removes some of them."""
    for action in actions:
        if (added := action.get("add")) and added.get("dataChange") is not False:
            files.setdefault(added["path"], None)
        if (removed := action.get("remove")) and removed.get("path") in files:
            files[removed["path"]] = removed.get("deletionTimestamp")


def _changes(actions: Sequence[Mapping[str, Any]], kind: str) -> bool:
    """Whether a commit has an action of the kind that changes rows: a compaction's do not."""
    return any(action[kind].get("dataChange") is not False for action in actions if action.get(kind))


def _additions(storage: Storage, path: str) -> Iterator[str]:
    for action in delta_log.actions(storage, path):
        added = action.get("add")
        if added and added.get("dataChange") is not False:
            yield logs.field(path, added, "path", str)


def _snapshot(storage: Storage, log: LogNames, version: int) -> list[str]:
    """All files of a version, by their time and path (Delta's `DeltaSourceSnapshot`)."""
    times: dict[str, int] = {}
    for entry in log.needed(version):
        for action in delta_log.actions(storage, entry.path, ("add.path", "add.modificationTime")):
            if added := action.get("add"):
                times[logs.field(entry.path, added, "path", str)] = logs.field(entry.path, added, "modificationTime", int, 0)
            if removed := action.get("remove"):
                times.pop(removed.get("path"), None)
    return sorted(times, key=lambda path: (times[path], path))
