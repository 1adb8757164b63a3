"""Offsets of a restored copy for code whose sources have other places or names, come, or go. Rows of new sources come with the next batch.

Measured with Spark 4.3.0: a source without an offset begins where its options say; one that has another place or name goes on once its
offset and its folder stand there, also from places to names and back, which Spark itself refuses.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pipelines.checkpoint import closure, logs, offsets
from pipelines.storage import folders, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone, Storage

ASIDE = "moved-sources"


def place(checkpoint: str, pairs: Mapping[str, str | None], *, by_name: bool) -> None:
    """Gives the sources of a copy of a checkpoint other places: `pairs` has what each is called in the new code -> in the savepoint, None
    for one that begins, in the order of the new code. Its files may be links to those of a savepoint: none is written in place.

    Raises Corrupt, Unsupported for entries that cannot be read."""
    storage = open_storage(checkpoint)
    for batch in logs.batch_ids([paths.name(entry.path) for entry in storage.list(offsets.FOLDER)]):
        path = offsets.path(batch)
        storage.write(path, offsets.with_sources(batch, storage.read(path), pairs, by_name=by_name))
        storage.delete([f"{offsets.FOLDER}/.{batch}.crc"])
    kept = {source: old for source, old in pairs.items() if old is not None}
    if folders.local(storage):
        _rename(Path(checkpoint), kept)
    else:
        _copy(storage, kept)


def _rename(folder: Path, kept: Mapping[str, str]) -> None:
    """On a disk the folders of the sources get other names, and stay whose they are."""
    was, sources = folder / ASIDE, folder / closure.SOURCES
    if not sources.is_dir():
        return
    sources.rename(was)
    sources.mkdir()
    for source, old in kept.items():
        if (was / old).is_dir():
            (was / old).rename(sources / source)
    shutil.rmtree(was)


def _copy(storage: Storage, kept: Mapping[str, str]) -> None:
    """At a home the few files of their logs are copied."""
    files = list(storage.list(closure.SOURCES))
    homes = {f"{closure.SOURCES}/{old}/": f"{ASIDE}/{source}/" for source, old in kept.items()}
    pairs = [(file, home) for file in files for home in homes if file.path.startswith(home)]
    list(storage.clone(storage, [Clone(file.path, homes[home] + file.path.removeprefix(home), file.bytes) for file, home in pairs]))
    folders.remove(storage, closure.SOURCES)
    if pairs:
        folders.rename(storage, ASIDE, closure.SOURCES)
