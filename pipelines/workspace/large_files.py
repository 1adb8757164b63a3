"""Files that are too large for a version: kept once in the workspace, by their SHA-256, so that nobody can change them under a job."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from pipelines.domain.files import outside_changed
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.domain.watch import Watch
from pipelines.savepoint import layout, outside
from pipelines.storage import copies, file_objects
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone
from pipelines.workspace.context import Context


def keep(context: Context, version: Version, watch: Watch) -> None:
    """Copies those of `version` that are not kept yet, and compares each with its hash on the way.

    Raises Conflict (`code.outside_changed`), NotFound, Unavailable for a full disk, and what `watch` raises."""
    missing = _missing(context, version)
    if not missing:
        return
    watch.step("keeping large files", sum(Path(path).stat().st_size for path in missing))
    store = open_storage(str(context.layout.large_files))
    for path, digest in missing.items():
        with file_objects.opened_for_job(path) as source, copies.writing(store, outside.name(path, digest)) as target:
            copied_digest = _poured(source, target, watch)
            if copied_digest != digest:
                raise outside_changed(path, copied_digest, digest)


def adopt(context: Context, manifest: Manifest) -> None:
    """Keeps those that an imported savepoint carries, whose hashes the import has compared; linked where the disk can."""
    store = open_storage(str(context.layout.large_files))
    carried = [(path, path.removeprefix(layout.outside(""))) for path in outside.carried(manifest)]
    clones = [Clone(layout.inside(manifest.id, path), name) for path, name in carried if not (context.layout.large_files / name).exists()]
    list(store.clone(context.library, clones))


def places(context: Context, version: Version) -> Mapping[str, str]:
    """Where a run finds the files of `version` that are kept, by the path that confs and arguments name."""
    kept = {path: _place(context, path, digest) for path, digest in version.outside.items()}
    return {path: str(place) for path, place in kept.items() if place.is_file()}


def places_of(version: Version, places: Mapping[str, str]) -> Mapping[str, str]:
    """Where a run finds each file of `version`, kept or not -> its SHA-256."""
    return {places.get(path, path): digest for path, digest in version.outside.items()}


def refuse(context: Context, version: Version) -> None:
    """Raises what `outside.refuse` raises for the first that is neither kept nor where it was."""
    outside.refuse(_missing(context, version))


def _missing(context: Context, version: Version) -> Mapping[str, str]:
    return {path: digest for path, digest in version.outside.items() if not _place(context, path, digest).is_file()}


def _place(context: Context, path: str, digest: str) -> Path:
    return context.layout.large_files / PurePosixPath(outside.name(path, digest))


def _poured(source: BinaryIO, target: BinaryIO, watch: Watch) -> str:
    """Copies a file; answers with its SHA-256."""
    digest = hashlib.sha256()
    while piece := source.read(copies.BUFFER_BYTES):
        digest.update(piece)
        target.write(piece)
        watch.advance(len(piece))
    return digest.hexdigest()
