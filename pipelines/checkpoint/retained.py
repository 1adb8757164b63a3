"""Which committed batches can be restored now: Spark purges old ones, so the answer changes while a job runs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pipelines.checkpoint import commits, logs, metadata, offsets, operators
from pipelines.checkpoint.closure import previous
from pipelines.checkpoint.listing import Listing, listed
from pipelines.checkpoint.offsets import Offsets
from pipelines.checkpoint.operators import Operator
from pipelines.checkpoint.state_chain import whole_versions
from pipelines.checkpoint.state_files import parse_all
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.storage.protocol import Storage

READERS = 8


@dataclass(frozen=True)
class RetainedBatch:
    """One batch that a savepoint can be taken of: when Spark planned it, and the watermark it ran with."""

    batch: int
    timestamp_ms: int
    watermark_ms: int


def retained(storage: Storage) -> tuple[RetainedBatch, ...]:
    """The batches that can be restored, ascending, judged by the names of the files that are there.

    A batch whose own log entry is damaged or was purged meanwhile is none of them; what else can be wrong with one (a broken
    snapshot, say) `closure` finds. Raises NotFound where there is no checkpoint, Corrupt or Unsupported where no batch can be told.
    """
    metadata.read(storage)
    committed = logs.batch_ids(listed(storage, commits.FOLDER).files(commits.FOLDER))
    listing = listed(storage)
    candidates = [batch for batch in committed if _has_logs(listing, batch)]
    if not candidates:
        return ()
    whole = _whole_state(listing, operators.read(storage, listing, candidates[-1]))
    restorable = [batch for batch in candidates if whole is None or batch + 1 in whole]
    with ThreadPoolExecutor(READERS) as pool:
        entries = list(pool.map(lambda batch: _entry(storage, batch), restorable))
    return tuple(RetainedBatch(one.batch, one.batch_timestamp_ms, one.batch_watermark_ms) for one in entries if one is not None)


def _has_logs(listing: Listing, batch: int) -> bool:
    return listing.get(offsets.path(batch)) is not None and (batch == 0 or previous(listing, offsets.FOLDER, batch) is not None)


def _whole_state(listing: Listing, found: tuple[Operator, ...]) -> frozenset[int] | None:
    """The versions that every store has whole, None where there is no state."""
    stores = [whole_versions(parse_all(listing.files(folder).values())) for folder in _folders(found)]
    return frozenset.intersection(*stores) if stores else None


def _folders(found: tuple[Operator, ...]) -> Iterator[str]:
    for operator in found:
        for partition in range(operator.partitions):
            for store in operator.stores:
                yield operators.store_folder(operator.id, partition, store)


def _entry(storage: Storage, batch: int) -> Offsets | None:
    try:
        return offsets.read(storage, batch)
    except (NotFound, Corrupt):
        return None
