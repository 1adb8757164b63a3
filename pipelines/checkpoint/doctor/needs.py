"""What one batch needs of a checkpoint, damaged or not: every file, and every file that is not there.

Like `closure`, which stops at the first file that is missing; a doctor goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.checkpoint import commits, compact_log, damage, logs, metadata, offsets, operators, relocation, source_log
from pipelines.checkpoint.closure import LOST_STATE, SOURCES, previous
from pipelines.checkpoint.commits import Commit
from pipelines.checkpoint.damage import DamagedFile
from pipelines.checkpoint.listing import Listing
from pipelines.checkpoint.offsets import Offsets
from pipelines.checkpoint.operators import Operator
from pipelines.checkpoint.state_chain import StoreVersion, chain, lineage_chain, whole_versions
from pipelines.checkpoint.state_closure import lineage_of, partition_ids
from pipelines.checkpoint.state_files import Immutable, Kind, StateFile, immutables, parse_all
from pipelines.domain.errors import NotFound, TidemarkError, Unsupported
from pipelines.domain.trust import Damage
from pipelines.storage import paths
from pipelines.storage.protocol import Storage


@dataclass
class Needs:
    """Files that one batch needs. `purged`: Spark deleted some by its own rule, so the batch is retained no longer, which is no damage."""

    batch: int
    files: set[str] = field(default_factory=set)
    damages: list[Damage] = field(default_factory=list)
    """What is missing, or has another size than the file that names it says."""
    purged: bool = False
    vanished: bool = False
    """Whether a file went between listing and reading it."""
    unknown: bool = False
    """Whether a file is of a version that is not known here: no damage, and nobody here can say what the batch needs."""

    def miss(self, error: DamagedFile) -> None:
        self.damages.append(Damage(error.path, "missing" if error.code == damage.MISSING else "unreadable", error.message))


class Walker:
    """Finds the needs of each batch of one checkpoint, as one listing shows it; reads each snapshot and each folder's names once.

    A file with broken content counts as there: files that it would name are left out, and the check of its content reports it.
    """

    def __init__(self, storage: Storage, listing: Listing, told: int) -> None:
        self._storage = storage
        self._told = told
        self._listing = listing
        self._committed = logs.batch_ids(listing.files(commits.FOLDER))
        self._named: dict[str, tuple[Immutable, ...]] = {}
        self._state_files: dict[str, tuple[StateFile, ...]] = {}
        self.source_logs: set[str] = set()
        """Folders that turned out to be logs of file sources."""

    def needs(self, batch: int) -> Needs:
        """All files that a restart after `batch` reads; `batch` is one that has an entry in at least one of both logs."""
        needs = Needs(batch)
        self._require(needs, metadata.FILE, "every checkpoint has one")
        self._logs(needs, batch)
        try:
            entry, commit = offsets.read(self._storage, batch), commits.read(self._storage, batch)
        except TidemarkError as error:
            needs.vanished |= isinstance(error, NotFound) and not needs.damages
            needs.unknown |= isinstance(error, Unsupported)
            return needs
        self._sources(needs, entry)
        for lost in operators.lost(self._listing, commit, self._told):
            needs.miss(damage.missing(operators.folder(lost), LOST_STATE))
        for operator in logs.batch_ids(self._listing.subfolders(operators.FOLDER)):
            self._operator(needs, operator, entry, commit)
        return needs

    def _require(self, needs: Needs, path: str, why: str) -> bool:
        """Whether `path` is there; it is needed with the checksum that Spark keeps of it."""
        if self._listing.get(path) is None:
            needs.miss(damage.missing(path, why))
            return False
        needs.files.add(path)
        if self._listing.get(f"{path}.crc") is not None:
            needs.files.add(f"{path}.crc")
        return True

    def _logs(self, needs: Needs, batch: int) -> None:
        """A batch before it that is committed had offsets too; one at the log's beginning was purged with all before it."""
        before = previous(self._listing, offsets.FOLDER, batch)
        committed = max((batch_id for batch_id in self._committed if batch_id < batch), default=None)
        self._require(needs, offsets.path(batch), "the batch is committed")
        self._require(needs, commits.path(batch), "later batches are committed")
        if committed is not None:
            self._require(needs, commits.path(committed), "a restart reads it")
        if before is not None and (committed is None or committed <= before):
            self._require(needs, offsets.path(before), "a restart reads it")
        elif committed is not None:
            self._require(needs, offsets.path(committed), f"a restart after batch {batch} reads it")
        elif batch > 0:
            needs.purged = True

    def _sources(self, needs: Needs, entry: Offsets) -> None:
        for source, offset in entry.offsets.items():
            folder, end = f"{SOURCES}/{source}", source_log.offset_of(offset)
            if end is None:
                for file in self._listing.below(folder):
                    needs.files.add(file.path)
            elif self._listing.files(folder):
                self._source_log(needs, folder, end)
            else:
                needs.miss(damage.missing(folder, "without it the source would read all of its files again"))

    def _source_log(self, needs: Needs, folder: str, end: int) -> None:
        self.source_logs.add(folder)
        names = compact_log.names(self._listing.files(folder))
        later = min((compact for compact in names.compacts if compact > end), default=None)
        try:
            needed = compact_log.chain(names, end, folder)
        except DamagedFile as error:
            if later is None:
                needs.miss(error)
                return
            needed = ((later, True),)
        needs.files.update(f"{folder}/{compact_log.name(batch, compact)}" for batch, compact in needed)

    def _operator(self, needs: Needs, number: int, entry: Offsets, commit: Commit) -> None:
        try:
            operator = self._described(needs, number, entry, commit)
        except DamagedFile as error:
            if error.code == damage.MISSING:
                needs.miss(error)
            return
        except TidemarkError as other:
            needs.vanished |= isinstance(other, NotFound)
            needs.unknown |= isinstance(other, Unsupported)
            return
        for partition in range(operator.partitions):
            for store in operator.stores:
                folder = operators.store_folder(number, partition, store)
                self._store(needs, folder, commit.batch + 1, partition_ids(commit, number, partition))

    def _described(self, needs: Needs, number: int, entry: Offsets, commit: Commit) -> Operator:
        path = operators.metadata_path(self._listing, number, commit.batch)
        if path is not None:
            needs.files.add(path)
        operator = operators.read_one(self._storage, self._listing, number, commit.batch)
        needs.files.update(operators.described_by(self._listing, operator, commit.batch))
        if path is not None and relocation.names_its_place(path):
            for schema in relocation.schema_paths(path, self._storage.read(path)):
                self._require(needs, schema, f"{path} names it")
        return operators.at(operator, self._listing, entry, commit)

    def _store(self, needs: Needs, folder: str, version: int, ids: frozenset[str]) -> None:
        files = self._files(folder)
        store_version = StoreVersion(
            folder, version, next(iter(sorted(ids & {file.unique_id for file in files if file.version == version})), "")
        )
        try:
            if ids and not store_version.unique_id:
                raise damage.missing(f"{folder}/{version}_*", "the commit log names a version of this store that is not there")
            needed = self._chain(needs, store_version, files)
        except DamagedFile as error:
            self._broken_chain(needs, error, files)
            return
        except TidemarkError as other:
            needs.vanished |= isinstance(other, NotFound)
            return
        for file in needed:
            self._require(needs, file.entry.path, "the state builds on it")
            if file.kind is Kind.ZIP:
                self._snapshot(needs, file.entry.path)

    def _files(self, folder: str) -> tuple[StateFile, ...]:
        if folder not in self._state_files:
            self._state_files[folder] = parse_all(self._listing.files(folder).values())
        return self._state_files[folder]

    def _chain(self, needs: Needs, store_version: StoreVersion, files: Sequence[StateFile]) -> Sequence[StateFile]:
        if not store_version.unique_id:
            return chain(store_version, files)
        name = f"{store_version.folder}/{store_version.version}_{store_version.unique_id}"
        if self._listing.get(f"{name}.zip"):
            return lineage_chain(store_version, files, ())
        needs.files.add(f"{name}.changelog")
        return lineage_chain(store_version, files, lineage_of(self._storage, f"{name}.changelog"))

    def _broken_chain(self, needs: Needs, error: DamagedFile, files: Sequence[StateFile]) -> None:
        """A file older than all that there are was purged where the logs begin after the first batch, and was never there where all
        state begins with whole files (a fork of batch 1 has batch 0 in its logs, and not its state): then it is no damage."""
        if error.code != damage.MISSING:
            return
        version = paths.name(error.path).split(".")[0].split("_")[0]
        oldest = min((file.version for file in files), default=0)
        if logs.is_number(version) and int(version) < oldest and (0 not in self._committed or self._begins_whole(int(version) + 1)):
            needs.purged = True
        else:
            needs.miss(error)

    def _begins_whole(self, version: int) -> bool:
        """Whether `version` is the oldest that any store has, and a whole one of each."""
        folders = [folder for folder in self._listing.folders if folder.startswith(f"{operators.FOLDER}/")]
        stores = [files for folder in folders if (files := self._files(folder))]
        return all(min(file.version for file in files) == version and version in whole_versions(files) for files in stores)

    def _snapshot(self, needs: Needs, path: str) -> None:
        try:
            if path not in self._named:
                self._named[path] = immutables(path, self._storage.read(path))
        except TidemarkError as error:
            needs.vanished |= isinstance(error, NotFound)
            return
        for immutable in self._named[path]:
            place = f"{paths.parent(path)}/{immutable.path}"
            entry = self._listing.get(place)
            if self._require(needs, place, f"{path} names it") and entry is not None and entry.bytes != immutable.bytes:
                needs.damages.append(Damage(place, "size", f"has {entry.bytes} bytes, {path} says {immutable.bytes}"))
