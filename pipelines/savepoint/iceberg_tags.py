"""Tags on the snapshots of Iceberg tables that savepoints note: `expire_snapshots` takes none that has one.

A tag is one commit, as Iceberg's `HadoopTableOperations` makes it: the metadata under the next number, if nobody has that. Whoever commits
at the same time finds the number taken, and tries again. All else stays, also the time of the last change, which is by its writers' clocks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pipelines.checkpoint import iceberg_metadata
from pipelines.domain.bounds import Long
from pipelines.domain.errors import Conflict, NotFound, TidemarkError, Unsupported
from pipelines.domain.iceberg import MAIN, Table
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import QueryImage
from pipelines.savepoint import iceberg_tables, manifests
from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Storage

TRIES = 5
FOR_EVER_MS = 2**63 - 1
"""Of a tag's own age, which comes before the table's (`history.expire.max-ref-age-ms`)."""
Refs = dict[str, Any]
"""Branches and tags, as metadata has them."""
Change = Callable[[Table, Refs], Refs]


@dataclass(frozen=True)
class Tag:
    """Of a snapshot that a savepoint notes, in the table of that id in a folder."""

    folder: str
    table: str
    snapshot: Long


@dataclass(frozen=True)
class Left:
    """A table whose tags could not be changed, and why."""

    table: str
    why: str


def name(savepoint: SavepointId, snapshot: int) -> str:
    return f"tidemark-{savepoint}-{snapshot}"


def keep(library: Storage, savepoint: SavepointId, images: Sequence[QueryImage]) -> tuple[Left, ...]:
    """Tags the snapshots that a savepoint notes and its tables have; answers with those that could not be tagged.

    Raises NotFound where the savepoint was disposed of meanwhile, and leaves no tag then."""
    tags = of(images)
    if not tags:
        return ()
    left = tuple(_left(savepoint, tags, _tagged))
    try:
        manifests.load(library, savepoint)
    except NotFound:
        drop(savepoint, tags)
        raise
    return left


def of(images: Iterable[QueryImage]) -> tuple[Tag, ...]:
    """The tags that a savepoint with these images has."""
    noted = ((image, image.snapshot) for image in images if image.snapshot is not None)
    return tuple(
        Tag(iceberg_tables.folder(image.sink, image.sink_path), in_table.table, in_table.snapshot)
        for image, in_table in noted
        if in_table.snapshot is not None
    )


def drop(savepoint: SavepointId, tags: Iterable[Tag]) -> tuple[Left, ...]:
    """Takes the tags of a savepoint away; answers with the tables whose could not be."""
    return tuple(_left(savepoint, tags, _untagged))


def _left(savepoint: SavepointId, tags: Iterable[Tag], change: Callable[[str, int, Table, Refs], Refs]) -> Iterator[Left]:
    for tag in tags:
        try:
            _commit(tag.folder, tag.table, partial(change, name(savepoint, tag.snapshot), tag.snapshot))
        except TidemarkError as error:
            yield Left(tag.folder, error.message)


def _tagged(tag: str, snapshot: int, table: Table, refs: Refs) -> Refs:
    """Metadata without branches names the newest snapshot alone: that is the main branch's, which has to stand beside a tag."""
    if snapshot not in table.snapshots:
        return refs
    main = {MAIN: {"snapshot-id": table.branches[MAIN], "type": "branch"}} if MAIN in table.branches else {}
    return {**main, **refs, tag: {"snapshot-id": snapshot, "type": "tag", "max-ref-age-ms": FOR_EVER_MS}}


def _untagged(tag: str, snapshot: int, table: Table, refs: Refs) -> Refs:
    return {ref: content for ref, content in refs.items() if ref != tag}


def _commit(folder: str, uuid: str, change: Change) -> None:
    """Does nothing where another table is there. Raises Conflict (`iceberg.busy`) where others were faster each time, and what reading and
    writing there raise."""
    storage = open_storage(folder)
    if not isinstance(storage, LocalStorage):
        raise Unsupported("iceberg.elsewhere", f"{folder} is in no folder of this machine", "Let the table keep its snapshots for longer.")
    for _ in range(TRIES):
        path = iceberg_metadata.newest(storage)
        if path is None:
            return
        raw = iceberg_metadata.content(storage, path)
        table, refs = iceberg_metadata.table(path, raw), raw.get("refs") or {}
        changed = change(table, refs)
        if table.uuid != uuid or changed == refs:
            return
        before = {"metadata-file": f"{table.location.rstrip('/')}/{path}", "timestamp-ms": raw.get("last-updated-ms", 0)}
        text = json.dumps({**raw, "refs": changed, "metadata-log": [*(raw.get("metadata-log") or ()), before]})
        if storage.write_new(iceberg_metadata.following(path), iceberg_metadata.packed(path, text.encode()), like=path):
            return
    raise Conflict("iceberg.busy", f"others commit to {folder} all the time", "Try again.")
