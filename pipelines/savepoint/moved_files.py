"""A file source that goes on at a time: files that were changed before it count as read, those since then do not.

`FileStreamSource` reads what its log does not name, so the log is all that changes. Its offset never goes back: a restart asks for the log
between the last two offsets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from pipelines.checkpoint import closure, compact_log, source_log
from pipelines.checkpoint.listing import listed
from pipelines.checkpoint.source_log import SourceFile, SourceLog
from pipelines.domain.errors import Unsupported
from pipelines.domain.java_paths import quoted
from pipelines.savepoint.held_files import is_listed, local_path, stored
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage


@dataclass(frozen=True)
class MovedLog:
    """The log as it is to be: path in the checkpoint -> content, and the offset that it ends with."""

    written: Mapping[str, bytes]
    offset: int
    skipped: tuple[str, ...]
    again: tuple[str, ...]


class Place(NamedTuple):
    """Where a file is: its storage (`s3a://bucket`, empty for this machine), and its path there, as people write it."""

    root: str
    path: str


def moved(
    checkpoint: Storage,
    source: str,
    offset: int,
    at_ms: float,
    others: Iterable[SourceFile],
    is_elsewhere: Callable[[str], bool] = lambda path: False,
) -> MovedLog:
    """The log of `source` in a savepoint's `checkpoint`, which stands at `offset`, moved to a time; `others` are files that its job has
    read since, which tell where to look. A file that `is_elsewhere` is not where the server would look for it.

    Raises Corrupt; Unsupported (`offsets.files`) for files elsewhere or of several storages, and where none is known; Unavailable."""
    folder = f"{closure.SOURCES}/{source}"
    log = source_log.read(checkpoint, folder, compact_log.names(listed(checkpoint, folder).files(folder)), offset)
    known = {place: entry for entry in (*others, *log.entries) if (place := _place(entry.path)) and not is_elsewhere(entry.path)}
    if len({place.root for place in known}) != 1 or len(known) < len({entry.path for entry in log.entries}):
        raise Unsupported(
            "offsets.files",
            f"The files of source {source} are of another machine, in another S3 than the server's or in several storages, or it has read "
            "none: nobody knows which there are",
            "Move sources that read files of this machine, of one S3 or HDFS, or Kafka.",
        )
    there = _files(known)
    kept = [entry for entry in log.entries if entry.timestamp_ms < at_ms]
    seen = {entry.path: _place(entry.path) for entry in log.entries}
    read = set(seen.values())
    new = [place for place, changed_ms in there.items() if place not in read and changed_ms < at_ms]
    ends = offset + bool(new)
    entries = (*kept, *(_entry(place, there[place], ends, next(iter(known.items()))) for place in new))
    names = source_log.cut(SourceLog(entries, log.interval), ends)
    again = tuple(entry.path for entry in log.entries if entry.timestamp_ms >= at_ms and seen[entry.path] in there)
    return MovedLog(
        {f"{folder}/{name}": data for name, data in names.items()}, ends, tuple(place.root + place.path for place in new), again
    )


def _place(address: str) -> Place | None:
    """Where a file of Spark's log is; None for one where nobody looks."""
    local = local_path(address)
    if local is not None:
        return Place("", str(local))
    if not is_listed(address):
        return None
    root, inside = stored(address)
    return Place(root, f"/{inside}")


def _files(known: Collection[Place]) -> Mapping[Place, int]:
    """All files where the known ones are, in whatever partition (`day=1`), with the times of their last change (epoch ms), oldest first."""
    (root,) = {place.root for place in known}
    base = PurePosixPath(os.path.commonpath([PurePosixPath(place.path).parent for place in known]))
    parts = [number for number, part in enumerate(base.parts) if "=" in part]
    base = PurePosixPath(*base.parts[: parts[0]]) if parts else base
    found = _listed(root, str(base)) if root else _below(str(base))
    return {Place(root, path): changed_ms for path, changed_ms in sorted(found, key=lambda file: (file[1], file[0]))}


def _below(folder: str) -> Iterator[tuple[str, int]]:
    """Of this machine, where a folder may be a link; none in one that is gone."""
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if _is_hidden(entry.name):
                continue
            if entry.is_dir():
                yield from _below(entry.path)
            else:
                yield entry.path, entry.stat().st_mtime_ns // 1_000_000


def _listed(root: str, folder: str) -> Iterator[tuple[str, int]]:
    """Of S3 or HDFS."""
    inside = folder.strip("/")
    for entry in open_storage(root).list(inside):
        if not any(map(_is_hidden, entry.path[len(inside) :].split("/"))):
            yield f"/{entry.path}", entry.modified_ms


def _is_hidden(name: str) -> bool:
    """Spark's rule: names that begin with a dot, or with an underscore where they are no `_column=value`."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _entry(place: Place, changed_ms: int, batch: int, like: tuple[Place, SourceFile]) -> SourceFile:
    """As Spark writes it: with the beginning that the address of a known file has."""
    example, entry = like
    own = quoted(example.path)
    address = (entry.path.removesuffix(own) if entry.path.endswith(own) else place.root or "file://") + quoted(place.path)
    line = json.dumps({"path": address, "timestamp": changed_ms, "batchId": batch}, ensure_ascii=False, separators=(",", ":"))
    return SourceFile(address, changed_ms, batch, line)
