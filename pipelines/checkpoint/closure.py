"""The closure of a committed batch: exactly the files that a restart after it needs, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.checkpoint import commits, compact_log, damage, logs, metadata, offsets, operators, source_log
from pipelines.checkpoint.commits import Commit
from pipelines.checkpoint.listing import Listing, listed
from pipelines.checkpoint.offsets import Offsets
from pipelines.checkpoint.operators import Operator
from pipelines.checkpoint.provider import Provider, provider
from pipelines.checkpoint.relocation import names_its_place, schema_paths
from pipelines.checkpoint.state_closure import restarted_versions, state_files
from pipelines.domain.errors import Corrupt
from pipelines.storage.protocol import Entry, Storage

SOURCES = "sources"
LOST_STATE = "the state of this operator is gone as a whole"


@dataclass(frozen=True)
class Closure:
    """What a restart after `batch` needs. Paths are relative to the checkpoint."""

    query_id: str
    batch: int
    offsets: Offsets
    commit: Commit
    clone: tuple[Entry, ...]
    """Files to clone as they are, sorted by path."""
    write: Mapping[str, bytes]
    """Files that are written anew: the logs of file sources, cut back to this batch's offsets."""
    conf: Mapping[str, str]
    """Confs that the checkpoint pins."""
    provider: Provider
    format_version: int
    """Spark's state checkpoint format: 2 where the commit log names every version by an id, else 1."""
    operators: tuple[Operator, ...]

    @property
    def relocate(self) -> tuple[str, ...]:
        """Those of `clone` that hold the checkpoint's own path: a copy elsewhere gets `relocation.relocated` of them, and no `.crc`."""
        return tuple(entry.path for entry in self.clone if names_its_place(entry.path))

    @property
    def total_bytes(self) -> int:
        return sum(entry.bytes for entry in self.clone) + sum(len(data) for data in self.write.values())

    @property
    def stateful(self) -> bool:
        return bool(self.operators)


def newest_committed(storage: Storage) -> int | None:
    """The newest batch in the commit log, None before the first."""
    return max(logs.batch_ids(listed(storage, commits.FOLDER).files(commits.FOLDER)), default=None)


def closure(storage: Storage, batch: int, told: int = 0) -> Closure:
    """The closure of `batch` of the checkpoint that `storage` is rooted at, and that has at least `told` stateful operators.

    Raises NotFound (no checkpoint; `storage.not_found`: a file was purged meanwhile), Conflict (batch not committed), Corrupt,
    Unsupported. A listing of a live checkpoint may be older in one folder than in another: a file missing is looked for again.
    """
    try:
        return _closure(storage, listed(storage), batch, told)
    except Corrupt as error:
        if error.code != damage.MISSING:
            raise
    return _closure(storage, listed(storage), batch, told)


def _closure(storage: Storage, listing: Listing, batch: int, told: int) -> Closure:
    query = metadata.read(storage)
    committed = logs.batch_ids(listing.files(commits.FOLDER))
    if batch not in committed:
        raise damage.not_committed(batch, committed[-1] if committed else None)
    listing.require(offsets.path(batch), "the batch is committed")
    entry, commit = offsets.read(storage, batch), commits.read(storage, batch)
    stateful_operators = tuple(operators.at(operator, listing, entry, commit) for operator in operators.read(storage, listing, batch))
    for lost in operators.lost(listing, commit, told):
        raise damage.missing(operators.folder(lost), LOST_STATE)
    kind = provider(entry, bool(stateful_operators))
    write = dict(cut_sources(storage, listing, entry))
    entries = {file.path: file for file in _clone(storage, listing, batch, commit, stateful_operators, entry)}
    return Closure(
        query_id=query.query_id,
        batch=batch,
        offsets=entry,
        commit=commit,
        clone=tuple(map(entries.__getitem__, sorted(entries))),
        write=write,
        conf=entry.conf,
        provider=kind,
        format_version=2 if commit.state_unique_ids else 1,
        operators=stateful_operators,
    )


def _clone(
    storage: Storage, listing: Listing, batch: int, commit: Commit, stateful_operators: tuple[Operator, ...], entry: Offsets
) -> Iterator[Entry]:
    yield from listing.with_companions(metadata.FILE, "every checkpoint has one")
    yield from _log_entries(listing, batch)
    yield from _whole_sources(listing, entry)
    for operator in stateful_operators:
        for path in operators.described_by(listing, operator, batch):
            yield listing.require(path, "it describes the state")
            if names_its_place(path):
                yield from (listing.require(schema, f"{path} names it") for schema in schema_paths(path, storage.read(path)))
    yield from state_files(storage, listing, restarted_versions(listing, stateful_operators, commit))


def _log_entries(listing: Listing, batch: int) -> Iterator[Entry]:
    """Offsets and commits of the batch and of the one before it, which a restart reads to know where the batch began."""
    for log in (offsets, commits):
        for batch_id in (previous(listing, log.FOLDER, batch), batch):
            if batch_id is not None:
                yield from listing.with_companions(log.path(batch_id), "a restart reads it")
    if not has_previous(listing, batch):
        raise damage.missing(offsets.path(previous(listing, commits.FOLDER, batch) or batch - 1), f"a restart after batch {batch} reads it")


def has_previous(listing: Listing, batch: int) -> bool:
    """Whether the offsets of the batch before are there: every committed batch has had offsets."""
    before, committed = (previous(listing, folder, batch) for folder in (offsets.FOLDER, commits.FOLDER))
    if before is None:
        return batch == 0
    return committed is None or committed <= before


def previous(listing: Listing, folder: str, batch: int) -> int | None:
    """The entry before `batch` in a log, which async progress tracking leaves with gaps."""
    return max((batch_id for batch_id in logs.batch_ids(listing.files(folder)) if batch_id < batch), default=None)


def _file_sources(listing: Listing, entry: Offsets) -> Iterator[tuple[str, int]]:
    """Folder and offset of each source that keeps a file source's log."""
    for source, offset in entry.offsets.items():
        folder, end = f"{SOURCES}/{source}", source_log.offset_of(offset)
        if end is not None and listing.files(folder):
            yield folder, end


def cut_sources(storage: Storage, listing: Listing, entry: Offsets) -> Iterator[tuple[str, bytes]]:
    """The logs of file sources as they would be had they ended at the offsets of `entry`: path -> content. Raises Corrupt."""
    for folder, end in _file_sources(listing, entry):
        log_names = compact_log.names(listing.files(folder))
        for name, data in source_log.cut(source_log.read(storage, folder, log_names, end), end).items():
            yield f"{folder}/{name}", data


def _whole_sources(listing: Listing, entry: Offsets) -> Iterator[Entry]:
    """The files of all other sources; a file source that has no offset yet starts without its log."""
    cut = {folder for folder, _ in _file_sources(listing, entry)}
    for source in sorted(listing.subfolders(SOURCES)):
        folder = f"{SOURCES}/{source}"
        if folder not in cut:
            yield from listing.below(folder)
