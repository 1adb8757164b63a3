"""A file source that goes on at a time: files that were changed before it count as read, those since then do not.

`FileStreamSource` reads what its log does not name, so the log is all that changes. Its offset never goes back: a restart asks for the log
between the last two offsets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pipelines.checkpoint import closure, compact_log, source_log
from pipelines.checkpoint.listing import listed
from pipelines.checkpoint.source_log import SourceFile, SourceLog
from pipelines.domain.errors import Unsupported
from pipelines.savepoint.held_files import local_path
from pipelines.storage.protocol import Storage

LEGAL = "/_-!.~'()*,;:$&+=@"
"""What Java's URI leaves as it is in a path, as it does what is beyond ASCII."""


@dataclass(frozen=True)
class MovedLog:
    """The log as it is to be: path in the checkpoint -> content, and the offset that it ends with."""

    written: Mapping[str, bytes]
    offset: int
    skipped: tuple[str, ...]
    again: tuple[str, ...]


def moved(checkpoint: Storage, source: str, offset: int, at_ms: float, others: Iterable[SourceFile]) -> MovedLog:
    """The log of `source` in a savepoint's `checkpoint`, which stands at `offset`, moved to a time; `others` are files that its job has
    read since, which tell where to look.

    Raises Corrupt; Unsupported (`offsets.files`) for files of another machine, and where none is known."""
    folder = f"{closure.SOURCES}/{source}"
    log = source_log.read(checkpoint, folder, compact_log.names(listed(checkpoint, folder).files(folder)), offset)
    known = {local: entry for entry in (*others, *log.entries) if (local := local_path(entry.path)) is not None}
    if not known or len(known) < len({entry.path for entry in log.entries}):
        raise Unsupported(
            "offsets.files",
            f"The files of source {source} are of another machine, or it has read none: nobody knows which there are",
            "Move sources that read this machine's files, or Kafka.",
        )
    kept = [entry for entry in log.entries if entry.timestamp_ms < at_ms]
    seen = {local_path(entry.path) for entry in log.entries}
    new = [file for file in _files(known) if file[0] not in seen and file[1] < at_ms]
    ends = offset + bool(new)
    entries = (*kept, *(_entry(path, changed_ms, ends, next(iter(known.items()))) for path, changed_ms in new))
    names = source_log.cut(SourceLog(entries, log.interval), ends)
    since = (entry.path for entry in log.entries if entry.timestamp_ms >= at_ms)
    again = tuple(path for path in since if (local := local_path(path)) is not None and local.is_file())
    return MovedLog({f"{folder}/{name}": data for name, data in names.items()}, ends, tuple(str(path) for path, _ in new), again)


def _files(known: Iterable[Path]) -> list[tuple[Path, int]]:
    """All files where the known ones are, in whatever partition (`day=1`), with the times of their last change (epoch ms), oldest first."""
    base = Path(os.path.commonpath([path.parent for path in known]))
    parts = [number for number, part in enumerate(base.parts) if "=" in part]
    base = Path(*base.parts[: parts[0]]) if parts else base
    return sorted(_below(base), key=lambda file: (file[1], str(file[0])))


def _below(folder: Path) -> Iterator[tuple[Path, int]]:
    """Spark's rule of what is hidden: names that begin with a dot, or with an underscore where they are no `_column=value`."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or (entry.name.startswith("_") and "=" not in entry.name):
                continue
            if entry.is_dir():
                yield from _below(Path(entry.path))
            else:
                yield Path(entry.path), entry.stat().st_mtime_ns // 1_000_000


def _entry(path: Path, changed_ms: int, batch: int, like: tuple[Path, SourceFile]) -> SourceFile:
    """As Spark writes it: with the beginning that the address of a known file has."""
    example, entry = like
    own = _quoted(str(example))
    address = (entry.path.removesuffix(own) if entry.path.endswith(own) else "file://") + _quoted(str(path))
    line = json.dumps({"path": address, "timestamp": changed_ms, "batchId": batch}, ensure_ascii=False, separators=(",", ":"))
    return SourceFile(address, changed_ms, batch, line)


def _quoted(path: str) -> str:
    return "".join(character if ord(character) > 127 else quote(character, safe=LEGAL) for character in path)
