"""What a file source still holds: whether each file that was read after a savepoint is still where it was read.

Files go by `cleanSource`, which deletes or archives those of finished batches, or by whoever else tidies the folder. Spark keeps the path
and time of every file that it has seen in `sources/<source>` of the checkpoint (`FileStreamSourceLog`). On this machine each file is
looked for; in S3 and HDFS each folder of them is listed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipelines.checkpoint import compact_log, source_log
from pipelines.checkpoint.listing import listed
from pipelines.checkpoint.source_log import SourceFile
from pipelines.domain.errors import Corrupt, Invalid, NotFound, Unavailable, Unsupported
from pipelines.domain.holdings import MOST_GAPS, Holding, Usable
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import SourceOffset
from pipelines.storage.addresses import STORE_ADDRESSES, open_storage
from pipelines.storage.protocol import Storage

ELSEWHERE = "its files are on another machine, or in another S3 than the server's, where nobody looked"


@dataclass
class Seen:
    """Which files are there, each looked for once."""

    _there: dict[str, bool] = field(default_factory=dict)
    _listed: dict[str, frozenset[str]] = field(default_factory=dict)
    """By folder in S3 or HDFS, the names in it."""

    def look(self, paths: Iterable[str]) -> None:
        """Looks for those in S3 and HDFS, folder by folder; one that an earlier listing lacks may be newer, so the folder is listed anew.

        Raises Unavailable, Unsupported or Invalid where that cannot be."""
        folders: dict[str, list[str]] = {}
        for path in paths:
            if is_listed(path) and path not in self._there:
                folders.setdefault(path.rpartition("/")[0], []).append(path)
        for folder, files in folders.items():
            names = {path: unquote(path.rpartition("/")[2]) for path in files}
            if not self._listed.get(folder, frozenset()).issuperset(names.values()):
                self._listed[folder] = _names(folder)
            self._there |= {path: name in self._listed[folder] for path, name in names.items()}

    def has_listed(self, path: str) -> bool:
        """Whether the folder of a file in S3 or HDFS was listed."""
        return path.rpartition("/")[0] in self._listed

    def is_there(self, path: str) -> bool:
        """Whether the file is there, False for one of another machine; Unavailable (`holdings.unreadable`) where nobody may look."""
        if path not in self._there:
            local = local_path(path)
            try:
                self._there[path] = local is not None and local.exists()
            except PermissionError as error:
                hint = "Let the user of the server look into the source's folder."
                raise Unavailable("holdings.unreadable", f"Nobody here may see whether {path} is there", hint) from error
        return self._there[path]


def is_listed(path: str) -> bool:
    """Whether a file of Spark's log is in S3 or HDFS, where its folder is listed."""
    return path.startswith(STORE_ADDRESSES)


def _names(folder: str) -> frozenset[str]:
    """The names of all that is right in a folder, or below it, of S3 or HDFS."""
    root, inside = stored(folder)
    entries = open_storage(root).list(inside)
    return frozenset(entry.path[len(inside) :].lstrip("/") for entry in entries)


def stored(address: str) -> tuple[str, str]:
    """Of a file or folder that is listed: its storage (`s3a://bucket`), and its path there, as people write it."""
    scheme, _, place = address.partition("://")
    root, _, inside = place.partition("/")
    return f"{scheme}://{root}", unquote(inside)


def local_path(path: str) -> Path | None:
    """Where a file of Spark's log is on this machine; None for one elsewhere."""
    parts = urlsplit(path)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") else None


def entries(storage: Storage, source: str, end: int | None = None) -> Sequence[SourceFile]:
    """The entries of a source's log in a checkpoint, up to batch `end` or all; none where the log is not there whole."""
    folder = f"sources/{source}"
    try:
        names = compact_log.names(name.rpartition("/")[2] for name in listed(storage, folder).files(folder))
        newest = names.newest if end is None else end
        return () if newest is None else source_log.read(storage, folder, names, newest).entries
    except (NotFound, Corrupt):
        return ()


def holding(
    query: QueryName,
    offset: SourceOffset,
    own: Storage,
    others: Iterable[Storage],
    seen: Seen,
    now_ms: int,
    is_elsewhere: Callable[[str], bool] = lambda path: False,
) -> Holding:
    """What the source holds of what was read after `offset`. `own` is the checkpoint in the savepoint,
    `others` are those of its job; a file that `is_elsewhere` is not where the server would look for it."""
    end = source_log.offset_of(offset.offset)
    read = entries(own, offset.source, end) if end is not None and end >= 0 else ()
    if end is not None and end >= 0 and not read:
        return Holding(query, offset.source, Usable.UNKNOWN, "the savepoint does not say which files it has read")
    needed = _needed({entry.path for entry in read}, others, offset.source)
    paths = [entry.path for entry in (*needed, *read[-1:])]
    if any(is_elsewhere(path) or (local_path(path) is None and not is_listed(path)) for path in paths):
        return Holding(query, offset.source, Usable.UNKNOWN, ELSEWHERE)
    try:
        seen.look(entry.path for entry in needed)
    except (Invalid, Unavailable, Unsupported) as away:
        return Holding(query, offset.source, Usable.UNKNOWN, f"nobody could look where its files are: {away.message}")
    gone = [entry.path for entry in needed if not seen.is_there(entry.path)]
    if gone:
        why = f"{len(gone):,} of the {len(needed):,} files that were read after it are gone"
        has_folder = _has_folder((*read, *needed))
        return Holding(query, offset.source, Usable.NO, why, gone=len(gone), gaps=tuple(gone[:MOST_GAPS]), has_folder=has_folder)
    why = f"all {len(needed):,} files that were read after it are there" if needed else "no file was read after it yet"
    first_ms = min((entry.timestamp_ms for entry in needed), default=now_ms)
    keeps_ms = _keeps_ms(read, first_ms, seen, now_ms)
    until_ms = None if keeps_ms is None else first_ms + keeps_ms
    return Holding(query, offset.source, Usable.YES, why, until_ms, keeps_ms)


def _needed(read: set[str], others: Iterable[Storage], source: str) -> list[SourceFile]:
    """Every file that the job has read, and the savepoint has not; oldest first."""
    after = {entry.path: entry for storage in others for entry in entries(storage, source) if entry.path not in read}
    return sorted(after.values(), key=lambda entry: (entry.timestamp_ms, entry.path))


def _has_folder(files: Iterable[SourceFile]) -> bool:
    """Whether the folder that all files were in is there. Where it is not, Spark does not begin to read it (`DataSource`). Of folders in
    S3 and HDFS it is taken for granted."""
    places = [local_path(file.path) for file in files]
    folders = {place.parent for place in places if place is not None}
    return None in places or (bool(folders) and Path(os.path.commonpath(folders)).is_dir())


def _keeps_ms(read: Sequence[SourceFile], first_ms: int, seen: Seen, now_ms: int) -> int | None:
    """How old the newest file that is gone would be now: so long files stay, where the oldest go first. None where none is gone, or one
    is that is newer than a file that is there: then they do not go by their age. In S3 and HDFS only folders count that were listed."""
    looked_for = [entry for entry in read if not is_listed(entry.path) or seen.has_listed(entry.path)]
    seen.look(entry.path for entry in looked_for)
    newest_ms = max((entry.timestamp_ms for entry in looked_for if not seen.is_there(entry.path)), default=None)
    return None if newest_ms is None or newest_ms > first_ms else now_ms - newest_ms
