"""The files that tell what single batches changed in a state store: Spark's change feed reads them, and nothing whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.checkpoint import commits, logs, offsets, operators
from pipelines.checkpoint.listing import Listing
from pipelines.checkpoint.state_files import Kind, parse_all
from pipelines.storage.protocol import Entry

LOGS = (offsets.FOLDER, commits.FOLDER)


@dataclass(frozen=True)
class ChangeFiles:
    """The batches after `since` of which every store kept its changes, up to the newest that was asked for, and their files."""

    since: int
    files: tuple[Entry, ...]
    """None where even the newest batch is told of by a snapshot alone."""


def change_files(listing: Listing, store_folders: Iterable[str], since: int, newest: int) -> ChangeFiles:
    """Looks for the changes of the batches from `since` + 1 to `newest` (batch N makes version N + 1)."""
    stores = [_by_batch(listing, folder) for folder in store_folders]
    first = newest + 1
    while first - 1 > since and all(first - 1 in store for store in stores) and _is_logged(listing, first - 1):
        first -= 1
    batches = range(first, newest + 1)
    changes = [entry for store in stores for batch in batches for entry in store[batch]]
    noted = [entry for log in LOGS for batch in range(first - 1, newest + 1) for entry in _log(listing, f"{log}/{batch}")]
    return ChangeFiles(first - 1, (*noted, *changes) if batches else ())


def _by_batch(listing: Listing, folder: str) -> dict[int, list[Entry]]:
    """The changes that are there of each batch; of a batch that was begun twice there may be several."""
    entries = dict[int, list[Entry]]()
    for file in parse_all(listing.files(folder).values()):
        if file.kind in (Kind.DELTA, Kind.CHANGELOG):
            entries.setdefault(file.version - 1, []).extend(listing.with_companions(file.entry.path, "the batch wrote it"))
    return entries


def _is_logged(listing: Listing, batch: int) -> bool:
    return all(batch in logs.batch_ids(listing.files(log)) for log in LOGS)


def _log(listing: Listing, path: str) -> Iterator[Entry]:
    if listing.get(path) is not None:
        yield from listing.with_companions(path, "the batch was committed")


def folders(operator: int, partitions: Iterable[int], store: str) -> tuple[str, ...]:
    """Where a store's files are, partition by partition."""
    return tuple(operators.store_folder(operator, partition, store) for partition in partitions)
