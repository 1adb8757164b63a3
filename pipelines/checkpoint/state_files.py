"""The files of a state store: what their names say, and what a RocksDB snapshot and changelog say of others."""

from __future__ import annotations

import enum
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pipelines.checkpoint import damage, logs
from pipelines.checkpoint.compression import Truncated, head
from pipelines.storage.protocol import Entry

SNAPSHOT_METADATA = "metadata"
SNAPSHOT_NEWEST = 2
"""Version 2 is that of Spark 4.0 in format 2; it says the same as version 1."""
LINEAGE_VERSIONS = ("v3", "v4")
"""Changelogs that begin with their lineage (StateStoreChangelogWriterV3, V4); v1 and v2 have none."""
BESIDE_SNAPSHOTS = ("/SSTs", "/logs")
"""How the folders end of the files that snapshots of RocksDB name."""
_NAME = re.compile(r"([0-9]{1,18})(?:_([0-9A-Za-z-]{1,64}))?\.(delta|snapshot|changelog|zip)")


class Kind(enum.StrEnum):
    """What a state file holds: a version whole, or the change from the version before."""

    DELTA = "delta"
    SNAPSHOT = "snapshot"
    CHANGELOG = "changelog"
    ZIP = "zip"

    @property
    def whole(self) -> bool:
        return self in (Kind.SNAPSHOT, Kind.ZIP)


_KINDS = {kind.value: kind for kind in Kind}


class StateFile(NamedTuple):
    """One file of one store. `unique_id` is empty in format 1."""

    entry: Entry
    version: int
    unique_id: str
    kind: Kind


@dataclass(frozen=True)
class LineageItem:
    """One version before a changelog's own, as its header names it."""

    version: int
    unique_id: str


@dataclass(frozen=True)
class Immutable:
    """One file that a RocksDB snapshot names: an SST, or (before Spark 4) a log. `path` is relative to the store's folder."""

    path: str
    bytes: int


def parse_name(entry: Entry) -> StateFile | None:
    """The state file that `entry` is, None for any other file (checksums, unfinished writes)."""
    name = entry.path.rpartition("/")[2]
    match = None if name.startswith(".") else _NAME.fullmatch(name)
    return StateFile(entry, int(match[1]), match[2] or "", _KINDS[match[3]]) if match else None


def parse_path(path: str) -> Kind | None:
    """What kind of state file a path names, None for any other file."""
    match = _NAME.fullmatch(path.rpartition("/")[2])
    return _KINDS[match[3]] if match else None


def is_data(path: str) -> bool:
    """Whether a file of a checkpoint, or its checksum, is of the state itself; what says of what that is made is not."""
    folder, _, name = path.rpartition("/")
    plain = name.removeprefix(".").partition(".crc")[0]
    return folder.endswith(BESIDE_SNAPSHOTS) or parse_path(plain) is not None


def parse_all(entries: Iterable[Entry]) -> tuple[StateFile, ...]:
    return tuple(filter(None, map(parse_name, entries)))


def immutables(path: str, data: bytes) -> tuple[Immutable, ...]:
    """The files that the snapshot zip `data` needs beside it (RocksDBCheckpointMetadata); raises Corrupt, Unsupported."""
    file = logs.parse(path, _snapshot_metadata(path, data), SNAPSHOT_NEWEST)
    raw = logs.json_object(path, "\n".join(file.lines))
    ssts: list[Any] = logs.field(path, raw, "sstFiles", list, [])
    wals: list[Any] = logs.field(path, raw, "logFiles", list, [])
    return (
        *(_immutable(path, "SSTs", "dfsSstFileName", sst) for sst in ssts),
        *(_immutable(path, "logs", "dfsLogFileName", wal) for wal in wals),
    )


def _snapshot_metadata(path: str, data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(SNAPSHOT_METADATA)
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise damage.malformed(path, f"it is no snapshot zip with metadata ({error})") from error


def _immutable(path: str, folder: str, key: str, raw: Any) -> Immutable:
    if not isinstance(raw, Mapping):
        raise damage.malformed(path, "it names a file that is no object")
    name = logs.field(path, raw, key, str)
    if not re.fullmatch(r"[0-9A-Za-z._-]+", name) or name in (".", ".."):
        raise damage.malformed(path, f"{name[:40]!r} is no file name")
    return Immutable(f"{folder}/{name}", logs.field(path, raw, "sizeBytes", int))


def lineage(path: str, data: bytes) -> tuple[LineageItem, ...]:
    """The versions that the changelog `data` (its first bytes suffice) builds on, oldest first; raises Corrupt, Unsupported.

    Two strings as Java's writeUTF has them: the writer's version and a JSON list.
    """
    try:
        size = int.from_bytes(head(path, data, 2), "big")
        if size > 8:
            raise damage.malformed(path, "it has no lineage header")
        version = head(path, data, 2 + size)[2:].decode("ascii", "replace")
        if version not in LINEAGE_VERSIONS:
            raise _unknown_changelog(path, version)
        start = 2 + size
        length = int.from_bytes(head(path, data, start + 2)[start:], "big")
        text = head(path, data, start + 2 + length)[start + 2 :]
    except Truncated as error:
        raise damage.malformed(path, "it ends within its lineage") from error
    return _items(path, logs.decoded(path, text))


def _unknown_changelog(path: str, version: str) -> Exception:
    number = version.removeprefix("v")
    if version.startswith("v") and logs.is_number(number) and int(number) > 4:
        return damage.newer_format(path, f"changelog {version}", f"changelog {LINEAGE_VERSIONS[-1]}")
    return damage.malformed(path, "it has no lineage header")


def _items(path: str, text: str) -> tuple[LineageItem, ...]:
    raw: list[Any] = logs.field(path, logs.json_object(path, f'{{"lineage":{text}}}'), "lineage", list)
    if not all(isinstance(item, Mapping) for item in raw):
        raise damage.malformed(path, "its lineage names no versions")
    items = [LineageItem(logs.field(path, item, "version", int), logs.field(path, item, "checkpointUniqueId", str)) for item in raw]
    return tuple(sorted(items, key=lambda item: item.version))
