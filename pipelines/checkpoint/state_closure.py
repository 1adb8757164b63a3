"""The state files that one version of every store needs."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.checkpoint import damage, operators
from pipelines.checkpoint.commits import Commit, path
from pipelines.checkpoint.listing import Listing
from pipelines.checkpoint.operators import Operator
from pipelines.checkpoint.state_chain import StoreVersion, chain, lineage_chain
from pipelines.checkpoint.state_files import Kind, LineageItem, StateFile, immutables, lineage, parse_all
from pipelines.storage import copies, parallel, paths
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Entry, Storage

READERS = 8
HEAD_BYTES = 256 * 1024
"""How much of a changelog is read: its lineage header, of a hundred bytes a version, is far shorter."""


def restarted_versions(listing: Listing, stateful_operators: Sequence[Operator], commit: Commit) -> list[StoreVersion]:
    """What a restart after `commit` loads: version batch + 1 of every store of every partition, by its id in format 2."""
    return [
        StoreVersion(folder, commit.batch + 1, _unique_id(listing, folder, ids, commit) if ids else "")
        for operator in stateful_operators
        for partition in range(operator.partitions)
        for ids in (partition_ids(commit, operator.id, partition),)
        for folder in (operators.store_folder(operator.id, partition, store) for store in operator.stores)
    ]


def partition_ids(commit: Commit, operator: int, partition: int) -> frozenset[str]:
    """The ids that `commit` has for the stores of one partition, none in format 1."""
    by_partition = commit.state_unique_ids.get(operator, ())
    return frozenset(by_partition[partition]) if partition < len(by_partition) else frozenset()


def _unique_id(listing: Listing, folder: str, ids: frozenset[str], commit: Commit) -> str:
    """The one of the partition's `ids` that is of the store in `folder`: the commit log has them in Spark's order, the files by name."""
    version = f"{commit.batch + 1}_"
    named = (entry for name, entry in listing.files(folder).items() if name.startswith(version))
    here = ids & {file.unique_id for file in parse_all(named)}
    if len(here) != 1:
        raise damage.missing(f"{folder}/{commit.batch + 1}_*", f"{path(commit.batch)} names a version of this store that is not there")
    return next(iter(here))


def state_files(storage: Storage, listing: Listing, store_versions: Sequence[StoreVersion]) -> list[Entry]:
    """Every file of the given versions, with checksums; raises Corrupt where one is missing, has another size or cannot be read."""
    chains = _chains(storage, listing, store_versions)
    whole = [file for files in chains for file in files if file.kind is Kind.ZIP]
    named = parallel.each(lambda file: _named_by(storage, listing, file), whole, READERS, brief=True)
    companions = [listing.with_companions(file.entry.path, "the state builds on it") for files in chains for file in files]
    return [entry for entries in (*companions, *named) for entry in entries]


def _chains(storage: Storage, listing: Listing, store_versions: Sequence[StoreVersion]) -> list[tuple[StateFile, ...]]:
    """The files of each version, oldest first. Format 1 needs only names; format 2 reads a file of each store, some at a time."""
    if any(store_version.unique_id for store_version in store_versions):
        return parallel.each(lambda store_version: _chain(storage, listing, store_version), store_versions, READERS, brief=True)
    return [_chain(storage, listing, store_version) for store_version in store_versions]


def _chain(storage: Storage, listing: Listing, store_version: StoreVersion) -> tuple[StateFile, ...]:
    files = parse_all(listing.files(store_version.folder).values())
    if not store_version.unique_id:
        return chain(store_version, files)
    name = f"{store_version.folder}/{store_version.version}_{store_version.unique_id}"
    if listing.get(f"{name}.zip"):
        return lineage_chain(store_version, files, ())
    return lineage_chain(store_version, files, lineage_of(storage, f"{name}.changelog"))


def lineage_of(storage: Storage, changelog: str) -> tuple[LineageItem, ...]:
    """The versions that the file at `changelog` builds on; raises Corrupt, Unsupported, NotFound."""
    with copies.opened(storage, changelog) as stream, typed_errors(changelog):
        return lineage(changelog, stream.read(HEAD_BYTES))


def _named_by(storage: Storage, listing: Listing, snapshot: StateFile) -> list[Entry]:
    zip_path = snapshot.entry.path
    entries: list[Entry] = []
    for immutable in immutables(zip_path, storage.read(zip_path)):
        files = list(listing.with_companions(f"{paths.parent(zip_path)}/{immutable.path}", f"{zip_path} names it"))
        if files[0].bytes != immutable.bytes:
            raise damage.malformed(files[0].path, f"it has {files[0].bytes} bytes, {zip_path} says {immutable.bytes}")
        entries.extend(files)
    return entries
