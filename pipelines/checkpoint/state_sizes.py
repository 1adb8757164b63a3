"""What each batch wrote into each partition of a checkpoint's state, as the names and sizes of its files tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import logs, operators
from pipelines.checkpoint.listing import Listing
from pipelines.checkpoint.state_files import StateFile, parse_all

NO_STORE = frozenset({operators.METADATA, "SSTs", "logs"})
"""Folders of a partition that hold no store."""


@dataclass(frozen=True)
class Written:
    """One batch's writing: when its last file was written, and bytes by partition."""

    at_ms: int
    bytes: Mapping[int, int]


def written(listing: Listing, operator: int) -> Mapping[int, Written]:
    """Batch -> what it wrote into `operator`, of all versions whose files are still there.

    Of a version that was written as a change and as a whole the change counts. RocksDB without a changelog writes wholes alone, whose
    SST files do not tell their version: there only the snapshot's own file counts.
    """
    sizes: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    times: defaultdict[int, int] = defaultdict(int)
    for partition in logs.batch_ids(listing.subfolders(operators.folder(operator))):
        for files in _stores(listing, f"{operators.folder(operator)}/{partition}"):
            for file in _changes(files):
                sizes[file.version - 1][partition] += file.entry.bytes
                times[file.version - 1] = max(times[file.version - 1], file.entry.modified_ms)
    return {batch: Written(times[batch], sizes[batch]) for batch in sorted(sizes)}


def _stores(listing: Listing, partition: str) -> Iterator[Sequence[StateFile]]:
    for folder in (partition, *(f"{partition}/{name}" for name in sorted(listing.subfolders(partition) - NO_STORE))):
        yield parse_all(listing.files(folder).values())


def _changes(files: Sequence[StateFile]) -> Iterator[StateFile]:
    changed = {file.version for file in files if not file.kind.whole}
    yield from (file for file in files if not file.kind.whole or file.version not in changed)
