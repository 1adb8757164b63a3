"""The seal of a savepoint: the SHA-256 of every file, computed after it is published, so that taking it costs nothing per byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pipelines.domain.errors import Corrupt, NotFound, Unsupported
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Manifest
from pipelines.savepoint import completeness, manifests, places
from pipelines.storage import copying, documents
from pipelines.storage.protocol import Storage

SEAL_FORMAT = 1
CHUNK_BYTES = 1024 * 1024
Advance = Callable[[int], None]
"""Told the bytes of each file when it is done."""


@dataclass(frozen=True)
class Seal:
    """`checksums.json`: SHA-256 in hex of every file of the manifest and of the manifest itself, and when they were computed."""

    format: int
    savepoint: SavepointId
    sealed_ms: int
    files: Mapping[str, str]


def seal(library: Storage, savepoint: SavepointId, now_ms: int, advance: Advance = lambda _: None) -> Seal:
    """Computes and writes the checksums of a complete savepoint once; the seal that is there stays. Corrupt where a file is missing."""
    found = read(library, savepoint)
    if found is not None:
        return found
    manifest = manifests.load(library, savepoint)
    completeness.refuse(savepoint, completeness.damages(library, savepoint, manifest.files))
    made = Seal(SEAL_FORMAT, savepoint, now_ms, checksums(library, savepoint, sealed_files(manifest), advance))
    library.write(places.inside(savepoint, places.CHECKSUMS), documents.encode(made))
    return made


def read(library: Storage, savepoint: SavepointId) -> Seal | None:
    """The seal, None where there is none yet; Corrupt, or Unsupported for a newer format."""
    name = f"{places.CHECKSUMS} of savepoint {savepoint}"
    try:
        found = documents.decode(Seal, library.read(places.inside(savepoint, places.CHECKSUMS)), name)
    except NotFound:
        return None
    if found.format > SEAL_FORMAT:
        raise Unsupported(
            "savepoint.newer_format", f"{name} has format {found.format}, the newest known is {SEAL_FORMAT}", "Update Tidemark to read it."
        )
    if found.savepoint != savepoint:
        raise Corrupt("savepoint.seal", f"{name} is that of {found.savepoint}", "Delete it; the next verify seals the savepoint anew.")
    return found


def sealed_files(manifest: Manifest) -> list[str]:
    """What a seal covers."""
    return [*(file.path for file in manifest.files), places.MANIFEST]


def checksums(library: Storage, savepoint: SavepointId, files: Iterable[str], advance: Advance = lambda _: None) -> dict[str, str]:
    """SHA-256 in hex by path, many files at once: hashing leaves the interpreter's lock, so the disk sets the speed."""
    wanted = list(files)
    with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        digests = pool.map(lambda path: _sha256(library, places.inside(savepoint, path), advance), wanted)
        return dict(zip(wanted, digests, strict=True))


def _sha256(storage: Storage, path: str, advance: Advance) -> str:
    """Empty for a file that is gone: no checksum equals that."""
    digest, size = hashlib.sha256(), 0
    try:
        with copying.opened(storage, path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
    except NotFound:
        return ""
    advance(size)
    return digest.hexdigest()
