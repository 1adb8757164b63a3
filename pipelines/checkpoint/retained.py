"""Which committed batches can be restored now: Spark purges old ones, so the answer changes while a job runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.checkpoint import commits, logs, metadata, offsets, operators
from pipelines.checkpoint.closure import has_previous
from pipelines.checkpoint.commits import Commit
from pipelines.checkpoint.listing import Listing, listed
from pipelines.checkpoint.offsets import Offsets
from pipelines.checkpoint.operators import Operator
from pipelines.checkpoint.state_chain import whole_versions
from pipelines.checkpoint.state_closure import partition_ids
from pipelines.checkpoint.state_files import parse_all
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.storage import parallel
from pipelines.storage.protocol import Storage

READERS = 8


@dataclass(frozen=True)
class RetainedBatch:
    """One batch that a savepoint can be taken of: when Spark planned it, the watermark it ran with, and when it was committed."""

    batch: int
    timestamp_ms: int
    watermark_ms: int
    committed_ms: int


def retained(storage: Storage, told: int = 0) -> tuple[RetainedBatch, ...]:
    """The batches that can be restored, ascending, judged by log entries and by the names of the state files, of at least `told` operators.

    A batch whose own log entries are damaged or were purged meanwhile is left out; other damage (a broken snapshot, say) is found by
    `closure`. Raises NotFound where there is no checkpoint, Corrupt or Unsupported where no batch can be told.
    """
    metadata.read(storage)
    committed = listed(storage, commits.FOLDER).files(commits.FOLDER)
    listing = listed(storage)
    candidates = [batch for batch in logs.batch_ids(committed) if _has_logs(listing, batch)]
    if not candidates:
        return ()
    stateful_operators = operators.read(storage, listing, candidates[-1])
    stores = _stores(listing, stateful_operators)
    entries = parallel.each(lambda batch: _entries(storage, batch), candidates, READERS, brief=True)
    return tuple(
        RetainedBatch(entry.batch, entry.batch_timestamp_ms, entry.batch_watermark_ms, committed[str(entry.batch)].modified_ms)
        for entry, commit in filter(None, entries)
        if next(operators.lost(listing, commit, told), None) is None
        and all(_has_state(stores, operator, listing, entry, commit) for operator in stateful_operators)
    )


@dataclass(frozen=True)
class _Store:
    """What one store's file names say: the versions that seem whole, and every version with its id."""

    whole: frozenset[int]
    named: frozenset[tuple[int, str]]


def _has_logs(listing: Listing, batch: int) -> bool:
    return listing.get(offsets.path(batch)) is not None and has_previous(listing, batch)


def _stores(listing: Listing, stateful_operators: tuple[Operator, ...]) -> dict[str, _Store]:
    """Every store of every partition that there is, by its folder."""
    stores: dict[str, _Store] = {}
    for operator in stateful_operators:
        for partition in logs.batch_ids(listing.subfolders(operators.folder(operator.id))):
            for store in operator.stores:
                folder = operators.store_folder(operator.id, partition, store)
                files = parse_all(listing.files(folder).values())
                stores[folder] = _Store(whole_versions(files), frozenset((file.version, file.unique_id) for file in files))
    return stores


def _has_state(stores: Mapping[str, _Store], operator: Operator, listing: Listing, entry: Offsets, commit: Commit) -> bool:
    if commit.state_unique_ids and operator.id not in commit.state_unique_ids:
        return False
    return all(
        _has_version(stores.get(operators.store_folder(operator.id, partition, store)), operator.id, partition, commit)
        for partition in range(operators.at(operator, listing, entry, commit).partitions)
        for store in operator.stores
    )


def _has_version(store: _Store | None, operator: int, partition: int, commit: Commit) -> bool:
    version = commit.batch + 1
    if store is None or version not in store.whole:
        return False
    ids = partition_ids(commit, operator, partition) or {""}
    return any((version, unique_id) in store.named for unique_id in ids)


def _entries(storage: Storage, batch: int) -> tuple[Offsets, Commit] | None:
    try:
        return offsets.read(storage, batch), commits.read(storage, batch)
    except (NotFound, Corrupt):
        return None
