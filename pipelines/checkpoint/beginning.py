"""The start of a query that has committed no batch: what Spark has written of it, and what the same start elsewhere reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.checkpoint import commits, compact_log, damage, logs, metadata, offsets, source_log
from pipelines.checkpoint.closure import SOURCES
from pipelines.checkpoint.listing import Listing, listed
from pipelines.domain.errors import Corrupt, Unsupported
from pipelines.storage.protocol import Entry, Storage


@dataclass(frozen=True)
class Beginning:
    """A query's id, and the files that say where its sources begin (an offset of Kafka, the first moment of a rate source)."""

    query_id: str
    clone: tuple[Entry, ...]


def beginning(storage: Storage) -> Beginning:
    """The start of the checkpoint that `storage` is rooted at.

    A batch that is planned and not committed is left out, and so is what a file source had noted for it: both are planned again.
    Raises NotFound where there is no checkpoint, Corrupt for a broken one.
    """
    query, listing = metadata.read(storage), listed(storage)
    entries = [*listing.with_companions(metadata.FILE, "every checkpoint has one"), *_positions(storage, listing)]
    return Beginning(query.query_id, tuple(sorted(entries)))


def positions(storage: Storage) -> dict[str, str]:
    """Where sources begin that note it in one document, as Kafka's does (KafkaSourceInitialOffsetWriter): source -> its text."""
    listing = listed(storage, SOURCES)
    noted = {source: f"{SOURCES}/{source}/0" for source in sorted(listing.subfolders(SOURCES))}
    texts = {source: logs.decoded(path, storage.read(path)) for source, path in noted.items() if listing.get(path)}
    return {source: text.partition("\n")[2] for source, text in texts.items()}


def refuse_lost_commits(storage: Storage) -> None:
    """Raises Corrupt where no batch is committed, and one after the first is planned: the commits are gone."""
    planned = logs.batch_ids(listed(storage, offsets.FOLDER).files(offsets.FOLDER))
    if planned and planned[-1] > 0:
        raise damage.missing(commits.path(planned[-1] - 1), f"batch {planned[-1]} is planned")


def _positions(storage: Storage, listing: Listing) -> Iterator[Entry]:
    for source in sorted(listing.subfolders(SOURCES)):
        folder = f"{SOURCES}/{source}"
        if not _lists_files(storage, listing, folder):
            yield from listing.below(folder)


def _lists_files(storage: Storage, listing: Listing, folder: str) -> bool:
    """Whether the source's log is one of files: its entries name them."""
    names = compact_log.names(listing.files(folder))
    first = next((compact_log.name(batch, False) for batch in sorted(names.singles)), None)
    if first is None:
        return bool(names.compacts)
    path = f"{folder}/{first}"
    try:
        source_log.check(path, storage.read(path))
    except (Corrupt, Unsupported):
        return False
    return True
