"""The Delta table that a query writes to, as of a batch: its version, and the files of it that a savepoint links.

Delta never changes a file that it wrote, so links keep a version whole, whatever commits and vacuums do to the table afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.checkpoint import delta_log
from pipelines.checkpoint.delta_log import LogNames
from pipelines.domain import delta_commits
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.domain.savepoints import NOT_BEGUN, QueryImage, TableImage
from pipelines.savepoint import clone
from pipelines.savepoint.sink_places import delta_folder, table_folder
from pipelines.savepoint.source import QueryLocation
from pipelines.storage import folders, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Entry, Storage

LOG_KEPT = 100
"""Versions before the savepoint's whose commits are kept too: a query that reads the table may be behind, and names its version."""
BESIDE = "those that are kept on its own (home set) hold it"


@dataclass(frozen=True)
class Table:
    """A table at one version: what a savepoint says of it, and the files to link."""

    image: TableImage
    storage: Storage
    entries: tuple[Entry, ...] = ()


def of(place: QueryLocation, query_id: str, batch: int, library: Storage) -> Table | None:
    """The table as `batch` of the query left it; None where the query writes to none, or its table is not there yet."""
    folder = delta_folder(place.sink, place.sink_path, place.sink_table)
    storage = open_storage(folder) if folder else None
    files = {entry.path: entry for entry in storage.list()} if storage else {}
    log = delta_log.names(files.values())
    if storage is None or log.newest < 0:
        return None
    version = NOT_BEGUN
    try:
        version = delta_log.version_of(storage, log, query_id, batch)
        if version < 0:
            return None
        return Table(TableImage(version), storage, _linked(storage, library, log, files, version, query_id, batch))
    except (Corrupt, Unsupported) as error:
        return Table(TableImage(version, error.message), storage)


def files(folder: str) -> tuple[str, ...]:
    """The data files that a reader of the table in `folder` sees now; Unsupported where they are not all of what it sees."""
    storage = open_storage(folder)
    log = delta_log.names(storage.list(delta_log.FOLDER))
    if log.newest < 0:
        return ()
    snapshot = delta_log.snapshot(storage, log, log.newest)
    if snapshot.configuration.get(delta_log.MAPPING, "none") != "none":
        hint = "Compare the tables with Spark."
        raise Unsupported("compare.sink", f"The Delta table {folder} maps its columns: its files have other names for them", hint)
    return tuple(f"{folder.rstrip('/')}/{path}" for path in snapshot.files)


def hindrance(image: QueryImage) -> str:
    """Why the table in a folder, as it is now, cannot go back to what it was after the image's batch; empty where it can."""
    if image.table is None or image.table.left:
        return image.table.left if image.table else "the savepoint does not hold it"
    storage = open_storage(table_folder(image))
    log = delta_log.names(storage.list(delta_log.FOLDER))
    if log.newest < 0:
        return ""
    try:
        now = _described(storage, log)
    except (Corrupt, Unsupported) as unreadable:
        return unreadable.message
    if not _is_later(now, image):
        return ""
    return delta_commits.hindrance(now, now) or _written_by_others(storage, log, image.query_id, image.table.version)


def has_later(image: QueryImage) -> bool:
    """Whether the table in a folder has later batches of the query than the image's. Raises Corrupt, Unsupported."""
    storage = open_storage(table_folder(image))
    log = delta_log.names(storage.list(delta_log.FOLDER))
    return log.newest >= 0 and _is_later(_described(storage, log), image)


def _is_later(now: delta_commits.Table, image: QueryImage) -> bool:
    return now.transactions.get(image.query_id, NOT_BEGUN) > image.batch


def swap_hindrance(image: QueryImage, folder: str, query_id: str, since: int) -> str:
    """Why the table in `folder`, in which `query_id` writes, cannot become the one of the image: they parted at its version `since`."""
    storage, theirs = open_storage(folder), open_storage(table_folder(image))
    log, their_log = (delta_log.names(table_storage.list(delta_log.FOLDER)) for table_storage in (storage, theirs))
    if min(log.newest, their_log.newest) < 0:
        return f"there is no table in {folder if log.newest < 0 else table_folder(image)}"
    try:
        now, their_table = _described(storage, log), _described(theirs, their_log)
    except (Corrupt, Unsupported) as unreadable:
        return unreadable.message
    return delta_commits.hindrance(now, their_table) or _written_by_others(storage, log, query_id, since)


def _described(storage: Storage, log: LogNames) -> delta_commits.Table:
    """The newest version without its files."""
    columns = ("protocol", "metaData.id", "metaData.configuration", "txn.appId", "txn.version")
    needed = [entry.path for entry in log.needed(log.newest)]
    return delta_commits.replayed(action for path in needed for action in delta_log.actions(storage, path, columns))


def _written_by_others(storage: Storage, log: LogNames, query_id: str, since: int) -> str:
    for version in range(since + 1, log.newest + 1):
        if version not in log.commits:
            return f"its log does not say any more who wrote version {version}"
        if delta_commits.is_of_others(delta_log.actions(storage, log.commits[version].path), query_id):
            return f"others changed its rows at version {version}"
    return ""


def _linked(
    storage: Storage, library: Storage, log: LogNames, files: Mapping[str, Entry], version: int, query_id: str, batch: int
) -> tuple[Entry, ...]:
    """The files of the version, with their checksums; raises Corrupt or Unsupported where they cannot all be linked."""
    snapshot = delta_log.snapshot(storage, log, version)
    if snapshot.transactions.get(query_id, -1) > batch:
        raise _not_there(f"its log reaches back to version {version} only, which has later batches of the query")
    gone = [path for path, size in snapshot.files.items() if path not in files or files[path].bytes != size]
    if gone:
        raise _not_there(f"{len(gone):,} of the {len(snapshot.files):,} files of version {version} are gone, as after a vacuum")
    if folders.expected_how(storage, library) not in clone.FREE:
        raise _not_there(f"it is on another file system than the savepoints, and would be copied with each of them; {BESIDE}")
    kept = [*_log(log, version), *(files[path] for path in snapshot.files)]
    return tuple(entry for path in dict.fromkeys(entry.path for entry in kept) for entry in _with_checksum(files, path))


def _log(log: LogNames, version: int) -> Iterator[Entry]:
    """What `version` is read from, its own commit (which Delta wants beside a checkpoint of it, too), and the unbroken log before it."""
    yield from log.needed(version)
    for number in range(version, max(-1, version - LOG_KEPT), -1):
        if number not in log.commits:
            return
        yield log.commits[number]
        yield from log.checkpoints.get(number, ())


def _with_checksum(files: Mapping[str, Entry], path: str) -> Iterator[Entry]:
    """The file, and Hadoop's companion of it where there is one."""
    yield files[path]
    companion = paths.join(paths.parent(path), f".{paths.name(path)}.crc")
    if companion in files:
        yield files[companion]


def _not_there(why: str) -> Unsupported:
    return Unsupported("delta.not_there", f"The Delta table cannot be kept: {why}", "Fork with the sink fresh.")
