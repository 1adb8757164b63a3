"""Which of a store's files make up one version: the newest whole one up to it, and every change after that. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import damage
from pipelines.checkpoint.state_files import Kind, LineageItem, StateFile


@dataclass(frozen=True)
class Wanted:
    """One version of one store. `unique_id` is empty in format 1."""

    folder: str
    version: int
    unique_id: str = ""


def chain(wanted: Wanted, files: Iterable[StateFile]) -> tuple[StateFile, ...]:
    """The files of format 1, oldest first; raises Corrupt where one is missing (RocksDBFileManager, HDFSBackedStateStoreProvider)."""
    present = {(file.version, file.kind): file for file in files if not file.unique_id}
    return tuple(reversed(list(_back(wanted, present))))


def _back(wanted: Wanted, present: Mapping[tuple[int, Kind], StateFile]) -> Iterator[StateFile]:
    for version in range(wanted.version, 0, -1):
        whole = present.get((version, Kind.SNAPSHOT)) or present.get((version, Kind.ZIP))
        if whole:
            yield whole
            return
        change = present.get((version, Kind.DELTA)) or present.get((version, Kind.CHANGELOG))
        if change is None:
            raise damage.missing(f"{wanted.folder}/{version}.*", f"version {wanted.version} of the state builds on it")
        yield change


def lineage_chain(wanted: Wanted, files: Iterable[StateFile], lineage: Sequence[LineageItem]) -> tuple[StateFile, ...]:
    """The files of format 2, oldest first: `lineage` is what the wanted version's changelog says (RocksDB.loadWithCheckpointId)."""
    present = {(file.version, file.unique_id, file.kind): file for file in files}
    chosen: list[StateFile] = []
    for item in reversed((*lineage, LineageItem(wanted.version, wanted.unique_id))):
        whole = present.get((item.version, item.unique_id, Kind.ZIP))
        if whole:
            return (whole, *reversed(chosen))
        change = present.get((item.version, item.unique_id, Kind.CHANGELOG))
        if change is None:
            name = f"{wanted.folder}/{item.version}_{item.unique_id}.changelog"
            raise damage.missing(name, f"version {wanted.version} of the state builds on it")
        chosen.append(change)
    if chosen[-1].version != 1:
        raise damage.missing(f"{wanted.folder}/*.zip", f"version {wanted.version} of the state has no snapshot to build on")
    return tuple(reversed(chosen))


def whole_versions(files: Iterable[StateFile]) -> frozenset[int]:
    """The versions of which every file seems present, by names alone: what a snapshot names is not looked at."""
    wholes: set[int] = set()
    changes: set[int] = set()
    for file in files:
        (wholes if file.kind.whole else changes).add(file.version)
    found: set[int] = set()
    for version in sorted(wholes | changes):
        if version in wholes or version == 1 or version - 1 in found:
            found.add(version)
    return frozenset(found)
