"""The seal of a savepoint: the SHA-256 of every file, computed after it is published, so that taking it costs nothing per byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pipelines.domain.bounds import Format, Moment
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Manifest
from pipelines.domain.trust import Damage
from pipelines.savepoint import completeness, layout, manifests, progress_file
from pipelines.storage import copies, documents, parallel
from pipelines.storage.protocol import Advance, Storage, unwatched

SEAL_FORMAT = 1
CHUNK_BYTES = 1024 * 1024
THREADS = 2 * (os.cpu_count() or 2)
"""Twice the processors: while one file is read, another one is hashed."""

BESIDE = (layout.MANIFEST, layout.PROGRESS)
"""What a seal covers beside the files that the manifest names."""


@dataclass(frozen=True)
class Seal:
    """`checksums.json`: SHA-256 in hex of every file of the manifest, of the manifest itself and of `progress.json` where there is
    one; and when they were computed."""

    format: Format
    savepoint: SavepointId
    sealed_ms: Moment
    files: Mapping[str, str]


def seal(library: Storage, savepoint: SavepointId, now_ms: int, advance: Advance = unwatched) -> Seal:
    """Computes and writes the checksums of a complete savepoint once; the seal that is there stays. Corrupt where a file is missing."""
    existing = read(library, savepoint)
    if existing is not None:
        return existing
    manifest = manifests.load(library, savepoint)
    completeness.refuse(savepoint, completeness.damages(library, savepoint, manifest.files))
    files = sealed_files(manifest)
    if progress_file.read(library, savepoint):
        files.append(layout.PROGRESS)
    digests = checksums(library, savepoint, files, advance)
    if "" in digests.values():
        raise NotFound("savepoint.not_found", f"Savepoint {savepoint} was disposed of while it was sealed", "Nothing is left to seal.")
    new_seal = Seal(SEAL_FORMAT, savepoint, now_ms, digests)
    manifests.write_beside(library, savepoint, layout.CHECKSUMS, documents.encode(new_seal))
    return new_seal


def alone(library: Storage, seal: Seal) -> Seal:
    """The seal of the savepoint where all files are in its folder, and its manifest names no others. Corrupt where that is damaged."""
    data = library.read(layout.inside(seal.savepoint, layout.MANIFEST))
    written = manifests.alone(data, seal.savepoint)
    if written is data:
        return seal
    if hashlib.sha256(data).hexdigest() != seal.files[layout.MANIFEST]:
        completeness.refuse(seal.savepoint, [Damage(layout.MANIFEST, "checksum", "is not what it was when it was sealed")])
    return replace(seal, files={**seal.files, layout.MANIFEST: hashlib.sha256(written).hexdigest()})


def read(library: Storage, savepoint: SavepointId) -> Seal | None:
    """The seal, None where there is none yet; Corrupt, or Unsupported for a newer format."""
    try:
        data = library.read(layout.inside(savepoint, layout.CHECKSUMS))
    except NotFound:
        return None
    return decode(data, savepoint)


def decode(data: bytes, savepoint: SavepointId) -> Seal:
    """The seal in `data`, which lies in the folder of `savepoint`; raises like `read`."""
    name = f"{layout.CHECKSUMS} of savepoint {savepoint}"
    seal = documents.decode(Seal, data, name, SEAL_FORMAT)
    if seal.savepoint != savepoint:
        raise Corrupt(
            "savepoint.seal", f"{name} belongs to savepoint {seal.savepoint}", "Delete it; the next verify seals the savepoint anew."
        )
    return seal


def sealed_files(manifest: Manifest, seal: Seal | None = None) -> list[str]:
    """Paths that a seal of the savepoint must cover, and `progress.json` where `seal` covers it."""
    paths = [*(file.path for file in manifest.files), layout.MANIFEST]
    return paths + ([layout.PROGRESS] if seal is not None and layout.PROGRESS in seal.files else [])


def checksums(library: Storage, savepoint: SavepointId, files: Iterable[str], advance: Advance = unwatched) -> dict[str, str]:
    """SHA-256 in hex by path, empty for a file that is gone: no checksum equals that.

    `advance` is told the bytes of each piece of the files that a manifest names: in sum the savepoint's size.
    Many files at once: hashing and reading leave the interpreter's lock, so the disk or the processors set the speed.
    """
    paths = list(files)
    halt = parallel.Halt()
    watched = halt.watched(advance)

    def digest(path: str) -> str:
        return _sha256(library, layout.inside(savepoint, path), unwatched if path in BESIDE else watched)

    digests = parallel.each(digest, paths, THREADS, halt)
    return dict(zip(paths, digests, strict=True))


def _sha256(storage: Storage, path: str, advance: Advance) -> str:
    digest = hashlib.sha256()
    try:
        with copies.opened(storage, path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                digest.update(chunk)
                advance(len(chunk))
    except NotFound:
        return ""
    return digest.hexdigest()
