"""Large files that a version knows by their hash: carried by savepoints as `outside/<SHA-256>/<name>`, taken from where a workspace keeps
them. Savepoints of earlier Tidemarks lack them; those need the file where it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from pipelines.domain.errors import Corrupt, NotFound, TidemarkError
from pipelines.domain.files import outside_changed, outside_gone
from pipelines.domain.savepoints import Manifest, StoredFile
from pipelines.savepoint import layout
from pipelines.savepoint.contents import Part
from pipelines.savepoint.source import JobSource
from pipelines.storage import file_objects
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone

KEPT = 128
"""Hashes that are remembered, each as long as its file has the same size and time of change."""


def name(path: str, digest: str) -> str:
    """Where a file is below the folder of all that a workspace keeps, and below a savepoint's `outside/`."""
    return f"{digest}/{PurePosixPath(path).name}"


def parts(job: JobSource) -> tuple[Part, ...]:
    """The files of the job's version that its workspace keeps, on their way into a savepoint; none where it keeps none."""
    if not job.outside or not job.version.outside:
        return ()
    store = open_storage(job.outside)
    names = {name(path, digest): digest for path, digest in job.version.outside.items()}
    sizes = {entry.path: entry.bytes for digest in set(names.values()) for entry in store.list(digest)}
    kept = [path for path in names if path in sizes]
    clones = tuple(Clone(path, layout.outside(path)) for path in kept)
    return (Part(store, clones, tuple(StoredFile(layout.outside(path), sizes[path]) for path in kept), {}),)


def carried(manifest: Manifest) -> Mapping[str, str]:
    """Path in the savepoint -> SHA-256 of each large file that it carries."""
    names = {layout.outside(name(path, digest)): digest for path, digest in manifest.version.outside.items()}
    return {file.path: names[file.path] for file in manifest.files if file.path in names}


def left(manifest: Manifest) -> Mapping[str, str]:
    """Path on the machine -> SHA-256 of each large file of its version that the savepoint does not carry."""
    inside = carried(manifest)
    outside = manifest.version.outside
    return {path: digest for path, digest in outside.items() if layout.outside(name(path, digest)) not in inside}


def check(manifest: Manifest, sealed: Mapping[str, str]) -> None:
    """Raises Corrupt (`savepoint.outside`) where the checksum (SHA-256) of a carried file is not the one that its version names."""
    for path, digest in carried(manifest).items():
        if sealed.get(path) != digest:
            message = f"{path} of savepoint {manifest.id} has the SHA-256 {sealed.get(path)}, and its version names another"
            raise Corrupt("savepoint.outside", message, layout.HINT)


def refuse(outside: Mapping[str, str]) -> None:
    """Raises NotFound (`code.outside_gone`) or Conflict (`code.outside_changed`) for the first that is not on this machine as it was, and
    Unavailable or Corrupt (`storage.not_a_file`) for one that a job's code cannot read."""
    for problem in _problems(outside):
        raise problem


def remarks(manifest: Manifest) -> tuple[str, ...]:
    """A sentence for each file that the savepoint does not carry and that is not on this machine as it was."""
    return tuple(f"{problem.message} No fork begins until then. {problem.hint}" for problem in _problems(left(manifest)))


def _problems(outside: Mapping[str, str]) -> list[TidemarkError]:
    problems = (_problem(path, digest) for path, digest in outside.items())
    return [problem for problem in problems if problem is not None]


def _problem(path: str, digest: str) -> TidemarkError | None:
    try:
        there = os.stat(path)
        current_digest = _digest(path, there.st_size, there.st_mtime_ns)
    except (OSError, NotFound):
        return outside_gone(path, digest)
    except TidemarkError as error:
        return error
    return None if current_digest == digest else outside_changed(path, current_digest, digest)


@lru_cache(KEPT)
def _digest(path: str, size: int, modified_ns: int) -> str:
    with file_objects.opened_for_job(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
