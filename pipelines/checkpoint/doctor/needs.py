"""What one batch needs of a checkpoint, damaged or not: every file, and every file that is not there.

Like `closure`, which stops at the first file that is missing; a doctor goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.checkpoint import commits, compact_log, damage, logs, metadata, offsets, operators, relocation, source_log
from pipelines.checkpoint.closure import SOURCES, previous
from pipelines.checkpoint.commits import Commit
from pipelines.checkpoint.damage import DamagedFile
from pipelines.checkpoint.listing import Listing
from pipelines.checkpoint.offsets import Offsets
from pipelines.checkpoint.operators import Operator
from pipelines.checkpoint.state_chain import Wanted, chain, lineage_chain
from pipelines.checkpoint.state_closure import lineage_of, partition_ids
from pipelines.checkpoint.state_files import Immutable, Kind, StateFile, immutables, parse_all
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.trust import Damage
from pipelines.storage import paths
from pipelines.storage.protocol import Storage


@dataclass
class Needs:
    """Of one batch. `purged`: Spark deleted what it needs by its own rule, so the batch is kept no longer, which is no damage."""

    batch: int
    files: set[str] = field(default_factory=set)
    damages: list[Damage] = field(default_factory=list)
    """What is missing, or has another size than the file that names it says."""
    purged: bool = False
    vanished: bool = False
    """Whether a file went between listing and reading it."""

    def miss(self, error: DamagedFile) -> None:
        self.damages.append(Damage(error.path, "missing" if error.code == damage.MISSING else "unreadable", error.message))


class Walker:
    """Finds the needs of each batch of one checkpoint, as one listing shows it; reads each snapshot once.

    A file whose content is broken counts as there: what it would have named is left out, and the check of its content speaks up.
    """

    def __init__(self, storage: Storage, listing: Listing) -> None:
        self._storage = storage
        self._listing = listing
        self._committed = logs.batch_ids(listing.files(commits.FOLDER))
        self._named: dict[str, tuple[Immutable, ...]] = {}
        self.source_logs: set[str] = set()
        """Folders that turned out to be logs of file sources."""

    def needs(self, batch: int) -> Needs:
        """All that a restart after `batch` reads; `batch` is one that has an entry in at least one of both logs."""
        found = Needs(batch)
        self._require(found, metadata.FILE, "every checkpoint has one")
        self._logs(found, batch)
        try:
            entry, commit = offsets.read(self._storage, batch), commits.read(self._storage, batch)
        except TidemarkError as error:
            found.vanished |= isinstance(error, NotFound) and not found.damages
            return found
        self._sources(found, entry)
        for operator in logs.batch_ids(self._listing.subfolders(operators.FOLDER)):
            self._operator(found, operator, entry, commit)
        return found

    def _require(self, found: Needs, path: str, why: str) -> bool:
        """Whether `path` is there; it is needed with the checksum that Spark keeps of it."""
        if self._listing.get(path) is None:
            found.miss(damage.missing(path, why))
            return False
        found.files.add(path)
        if self._listing.get(f"{path}.crc") is not None:
            found.files.add(f"{path}.crc")
        return True

    def _logs(self, found: Needs, batch: int) -> None:
        """A batch before it that is committed had offsets too; one at the log's beginning was purged with all before it."""
        before = previous(self._listing, offsets.FOLDER, batch)
        committed = max((one for one in self._committed if one < batch), default=None)
        self._require(found, offsets.path(batch), "the batch is committed")
        self._require(found, commits.path(batch), "later batches are committed")
        if committed is not None:
            self._require(found, commits.path(committed), "a restart reads it")
        if before is not None and (committed is None or committed <= before):
            self._require(found, offsets.path(before), "a restart reads it")
        elif committed is not None:
            self._require(found, offsets.path(committed), f"a restart after batch {batch} reads it")
        elif batch > 0:
            found.purged = True

    def _sources(self, found: Needs, entry: Offsets) -> None:
        for source, offset in entry.offsets.items():
            folder, end = f"{SOURCES}/{source}", source_log.offset_of(offset)
            if end is None:
                for one in self._listing.below(folder):
                    found.files.add(one.path)
            elif self._listing.files(folder):
                self._source_log(found, folder, end)
            else:
                found.miss(damage.missing(folder, "without it the source would read all of its files again"))

    def _source_log(self, found: Needs, folder: str, end: int) -> None:
        self.source_logs.add(folder)
        names = compact_log.names(self._listing.files(folder))
        later = min((compact for compact in names.compacts if compact > end), default=None)
        try:
            needed = compact_log.chain(names, end, folder)
        except DamagedFile as error:
            if later is None:
                found.miss(error)
                return
            needed = ((later, True),)
        found.files.update(f"{folder}/{compact_log.name(batch, compact)}" for batch, compact in needed)

    def _operator(self, found: Needs, number: int, entry: Offsets, commit: Commit) -> None:
        try:
            operator = self._described(found, number, entry, commit)
        except DamagedFile as error:
            if error.code == damage.MISSING:
                found.miss(error)
            return
        except TidemarkError as other:
            found.vanished |= isinstance(other, NotFound)
            return
        for partition in range(operator.partitions):
            for store in operator.stores:
                folder = operators.store_folder(number, partition, store)
                self._store(found, folder, commit.batch + 1, partition_ids(commit, number, partition))

    def _described(self, found: Needs, number: int, entry: Offsets, commit: Commit) -> Operator:
        path = operators.metadata_path(self._listing, number, commit.batch)
        if path is not None:
            found.files.add(path)
        operator = operators.read_one(self._storage, self._listing, number, commit.batch)
        found.files.update(operators.described_by(self._listing, operator, commit.batch))
        if path is not None and relocation.names_its_place(path):
            for schema in relocation.schema_paths(path, self._storage.read(path)):
                self._require(found, schema, f"{path} names it")
        return operators.at(operator, self._listing, entry, commit)

    def _store(self, found: Needs, folder: str, version: int, ids: frozenset[str]) -> None:
        files = parse_all(self._listing.files(folder).values())
        wanted = Wanted(folder, version, next(iter(sorted(ids & {one.unique_id for one in files if one.version == version})), ""))
        try:
            if ids and not wanted.unique_id:
                raise damage.missing(f"{folder}/{version}_*", "the commit log names a version of this store that is not there")
            needed = self._chain(found, wanted, files)
        except DamagedFile as error:
            self._broken_chain(found, error, files)
            return
        except TidemarkError as other:
            found.vanished |= isinstance(other, NotFound)
            return
        for file in needed:
            self._require(found, file.entry.path, "the state builds on it")
            if file.kind is Kind.ZIP:
                self._snapshot(found, file.entry.path)

    def _chain(self, found: Needs, wanted: Wanted, files: Sequence[StateFile]) -> Sequence[StateFile]:
        if not wanted.unique_id:
            return chain(wanted, files)
        name = f"{wanted.folder}/{wanted.version}_{wanted.unique_id}"
        if self._listing.get(f"{name}.zip"):
            return lineage_chain(wanted, files, ())
        found.files.add(f"{name}.changelog")
        return lineage_chain(wanted, files, lineage_of(self._storage, f"{name}.changelog"))

    def _broken_chain(self, found: Needs, error: DamagedFile, files: Sequence[StateFile]) -> None:
        """A file older than all that there are was purged, while the logs begin after the first batch: then it is no damage."""
        if error.code != damage.MISSING:
            return
        version = paths.name(error.path).split(".")[0].split("_")[0]
        oldest = min((one.version for one in files), default=0)
        if logs.is_number(version) and int(version) < oldest and 0 not in self._committed:
            found.purged = True
        else:
            found.miss(error)

    def _snapshot(self, found: Needs, path: str) -> None:
        try:
            if path not in self._named:
                self._named[path] = immutables(path, self._storage.read(path))
        except TidemarkError as error:
            found.vanished |= isinstance(error, NotFound)
            return
        for one in self._named[path]:
            place = f"{paths.parent(path)}/{one.path}"
            entry = self._listing.get(place)
            if self._require(found, place, f"{path} names it") and entry is not None and entry.bytes != one.bytes:
                found.damages.append(Damage(place, "size", f"has {entry.bytes} bytes, {path} says {one.bytes}"))
