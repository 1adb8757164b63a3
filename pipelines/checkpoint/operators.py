"""Stateful operators: what `state/<operator>/_metadata` says of them (OperatorStateMetadata v1, v2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pipelines.checkpoint import commits, damage, logs, offsets
from pipelines.checkpoint.commits import Commit
from pipelines.checkpoint.listing import Listing
from pipelines.checkpoint.offsets import Offsets
from pipelines.domain.operators import PARTITIONS_CONF
from pipelines.storage import folders, paths
from pipelines.storage.protocol import Storage

FOLDER = "state"
METADATA = "_metadata"
DEFAULT_STORE = "default"
NEWEST = 2
MOST_PARTITIONS = 1_000_000


@dataclass(frozen=True)
class Operator:
    """One stateful operator. `name` is Spark's (`stateStoreSave`, `symmetricHashJoin`), empty where the checkpoint does not say.

    Spark's metadata says how many shuffle partitions there were; `at` makes it the number of partitions that have state.
    """

    id: int
    name: str
    partitions: int
    stores: tuple[str, ...]


def folder(operator: int) -> str:
    return f"{FOLDER}/{operator}"


def store_folder(operator: int, partition: int, store: str) -> str:
    """Where a store's files are: the default store's lie right in the partition's folder (StateStoreId.storeCheckpointLocation)."""
    base = f"{folder(operator)}/{partition}"
    return base if store == DEFAULT_STORE else f"{base}/{store}"


def metadata_path(listing: Listing, operator: int, batch: int) -> str | None:
    """The file that describes `operator` at `batch`: the newest v2 entry up to it, else the v1 file."""
    versioned = f"{folder(operator)}/{METADATA}/v2"
    entries = [entry for entry in logs.batch_ids(listing.files(versioned)) if entry <= batch]
    if entries:
        return f"{versioned}/{entries[-1]}"
    single = f"{folder(operator)}/{METADATA}/metadata"
    return single if listing.get(single) else None


def parse(path: str, data: bytes) -> Operator:
    """One operator's metadata; raises Corrupt, Unsupported."""
    file = logs.parse(path, data, NEWEST)
    raw = logs.json_object(path, "\n".join(file.lines))
    info: dict[str, Any] = logs.field(path, raw, "operatorInfo", dict)
    stores: list[Any] = logs.field(path, raw, "stateStoreInfo", list)
    if not stores or not all(isinstance(store, dict) for store in stores):
        raise damage.malformed(path, "it names no state store")
    partitions = {logs.field(path, store, "numPartitions", int) for store in stores}
    if len(partitions) != 1 or not 0 < max(partitions) <= MOST_PARTITIONS:
        raise damage.malformed(path, "its numbers of partitions make no sense")
    names = tuple(_store_name(path, store) for store in stores)
    return Operator(logs.field(path, info, "operatorId", int), logs.field(path, info, "operatorName", str), partitions.pop(), names)


def prefixes(path: str, data: bytes) -> dict[str, int]:
    """Store -> how many of its key's columns it can be searched by (`numColsPrefixKey`), of the metadata of one operator.

    Raises Corrupt, Unsupported."""
    raw = logs.json_object(path, "\n".join(logs.parse(path, data, NEWEST).lines))
    stores: list[Any] = logs.field(path, raw, "stateStoreInfo", list)
    return {_store_name(path, store): logs.field(path, store, "numColsPrefixKey", int) for store in stores}


def _store_name(path: str, raw: dict[str, Any]) -> str:
    name = logs.field(path, raw, "storeName", str)
    if not name or "/" in name or name in (".", "..") or "\0" in name:
        raise damage.malformed(path, f"{name[:40]!r} is no store name")
    return name


def read(storage: Storage, listing: Listing, batch: int) -> tuple[Operator, ...]:
    """Every operator of the checkpoint as it was at `batch`."""
    ids = logs.batch_ids(listing.subfolders(FOLDER))
    return tuple(read_one(storage, listing, operator, batch) for operator in ids)


def lost(listing: Listing, commit: Commit, told: int = 0) -> Iterator[int]:
    """Operators whose state is gone as a whole: the commit log names them, or those after them are there, or there are fewer than `told`.

    In format 1, where no operator is left, nothing in a checkpoint says that there was one: only who saw the query run can tell.
    """
    there = set(logs.batch_ids(listing.subfolders(FOLDER)))
    named = there | commit.state_unique_ids.keys() | set(range(told))
    yield from sorted((named | set(range(len(named)))) - there)


def read_one(storage: Storage, listing: Listing, operator: int, batch: int) -> Operator:
    """One operator of the checkpoint as it was at `batch`; raises Corrupt, Unsupported."""
    path = metadata_path(listing, operator, batch)
    if path is None:
        return _from_folders(listing, operator)
    parsed = parse(path, storage.read(path))
    if parsed.id != operator:
        raise damage.malformed(path, f"it describes operator {parsed.id}")
    return parsed


def _from_folders(listing: Listing, operator: int) -> Operator:
    """The operator as its folders show it: checkpoints begun before Spark 3.5 have no operator metadata."""
    partitions = logs.batch_ids(listing.subfolders(folder(operator)))
    if not partitions or partitions != list(range(len(partitions))):
        raise damage.missing(f"{folder(operator)}/{METADATA}/metadata", "the operator has no complete set of partitions either")
    named = listing.subfolders(f"{folder(operator)}/0") - {METADATA, "SSTs", "logs"}
    return Operator(operator, "", len(partitions), tuple(sorted(named)) or (DEFAULT_STORE,))


def at(operator: Operator, listing: Listing, entry: Offsets, commit: Commit) -> Operator:
    """`operator` with the partitions it had at the batch of `entry` and `commit`; raises Corrupt where the commit leaves it out.

    In format 2 their number is in the commit log. In format 1 it is the pinned conf, which rescaling changes, except for operators
    that always have one partition (global aggregation, limit): only the folder 0 is there.
    """
    if commit.state_unique_ids:
        ids = commit.state_unique_ids.get(operator.id, ())
        if not ids:
            raise damage.malformed(commits.path(commit.batch), f"it has no state ids of operator {operator.id}")
        return replace(operator, partitions=len(ids))
    if logs.batch_ids(listing.subfolders(folder(operator.id))) == [0]:
        return replace(operator, partitions=1)
    pinned = entry.conf.get(PARTITIONS_CONF, "")
    return replace(operator, partitions=int(pinned)) if logs.is_number(pinned) and 0 < int(pinned) <= MOST_PARTITIONS else operator


def spread_over(storage: Storage) -> int:
    """Over how many partitions the state is spread, as the newest planned batch pins it; 0 where there is none, or all of it is in one.
    Raises Corrupt."""
    planned = logs.batch_ids(paths.name(entry.path) for entry in storage.list(offsets.FOLDER))
    stores = (logs.batch_ids(folders.children(storage, folder(each))) for each in logs.batch_ids(folders.children(storage, FOLDER)))
    if not planned or not any(len(partitions) > 1 for partitions in stores):
        return 0
    pinned = offsets.read(storage, planned[-1]).conf.get(PARTITIONS_CONF, "")
    return int(pinned) if logs.is_number(pinned) else 0


def described_by(listing: Listing, operator: Operator, batch: int) -> Iterator[str]:
    """Paths of the operator's metadata and schema files, less those of later batches."""
    base = folder(operator.id)
    for name in listing.subfolders(base):
        if not logs.is_number(name):
            yield from (entry.path for entry in listing.below(f"{base}/{name}") if not _is_later(entry.path, batch))
    for partition in listing.subfolders(base):
        if logs.is_number(partition):
            yield from _partition_metadata(listing, f"{base}/{partition}")


def _partition_metadata(listing: Listing, base: str) -> Iterator[str]:
    for place in (base, *(f"{base}/{store}" for store in listing.subfolders(base))):
        yield from (entry.path for entry in listing.below(f"{place}/{METADATA}"))


def _is_later(path: str, batch: int) -> bool:
    """Whether `path` is an entry of the v2 operator metadata, or its checksum, of a batch after `batch`."""
    outer, _, name = path.rpartition("/")
    number = name.removeprefix(".").removesuffix(".crc").removesuffix(".crc")
    return outer.endswith(f"{METADATA}/v2") and logs.is_number(number) and int(number) > batch
