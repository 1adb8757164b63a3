"""Which of a store's files make up one version: the newest whole one up to it, and every change after that. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import damage
from pipelines.checkpoint.state_files import Kind, LineageItem, StateFile


@dataclass(frozen=True)
class StoreVersion:
    """One version of one store. `unique_id` is empty in format 1."""

    folder: str
    version: int
    unique_id: str = ""


def chain(store_version: StoreVersion, files: Iterable[StateFile]) -> tuple[StateFile, ...]:
    """The files of format 1, oldest first; raises Corrupt where one is missing (RocksDBFileManager, HDFSBackedStateStoreProvider)."""
    present = {(file.version, file.kind): file for file in files if not file.unique_id}
    return tuple(reversed(list(_back(store_version, present))))


def _back(store_version: StoreVersion, present: Mapping[tuple[int, Kind], StateFile]) -> Iterator[StateFile]:
    for version in range(store_version.version, 0, -1):
        whole = present.get((version, Kind.SNAPSHOT)) or present.get((version, Kind.ZIP))
        if whole:
            yield whole
            return
        change = present.get((version, Kind.DELTA)) or present.get((version, Kind.CHANGELOG))
        if change is None:
            raise damage.missing(f"{store_version.folder}/{version}.*", f"version {store_version.version} of the state builds on it")
        yield change


def lineage_chain(store_version: StoreVersion, files: Iterable[StateFile], lineage: Sequence[LineageItem]) -> tuple[StateFile, ...]:
    """The files of format 2, oldest first: `lineage` is what the version's changelog says (RocksDB.loadWithCheckpointId)."""
    present = {(file.version, file.unique_id, file.kind): file for file in files}
    chosen: list[StateFile] = []
    for item in reversed((*lineage, LineageItem(store_version.version, store_version.unique_id))):
        whole = present.get((item.version, item.unique_id, Kind.ZIP))
        if whole:
            return (whole, *reversed(chosen))
        change = present.get((item.version, item.unique_id, Kind.CHANGELOG))
        if change is None:
            name = f"{store_version.folder}/{item.version}_{item.unique_id}.changelog"
            raise damage.missing(name, f"version {store_version.version} of the state builds on it")
        chosen.append(change)
    if chosen[-1].version != 1:
        raise damage.missing(f"{store_version.folder}/*.zip", f"version {store_version.version} of the state has no snapshot to build on")
    return tuple(reversed(chosen))


def whole_versions(files: Iterable[StateFile]) -> frozenset[int]:
    """The versions of which every file is present, judged by names alone: files that a snapshot names are not checked."""
    wholes: set[int] = set()
    changes: set[int] = set()
    for file in files:
        (wholes if file.kind.whole else changes).add(file.version)
    complete: set[int] = set()
    for version in sorted(wholes | changes):
        if version in wholes or version == 1 or version - 1 in complete:
            complete.add(version)
    return frozenset(complete)
