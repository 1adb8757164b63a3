"""The seal of a savepoint: a checksum of every file, computed after it is published, so that taking it costs nothing per byte.

Some stores have checksums of their own, and no byte passes through this machine: a listing of S3 tells ETags, HDFS is asked of each file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from pipelines.domain.bounds import Format, Moment
from pipelines.domain.errors import Corrupt, NotFound, Unavailable
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Manifest
from pipelines.domain.trust import Damage
from pipelines.savepoint import completeness, layout, manifests, progress_file
from pipelines.storage import copies, documents, parallel
from pipelines.storage.capabilities import Sums
from pipelines.storage.protocol import Advance, Entry, Storage, unwatched

OF_S3, OF_HDFS = "etag:", "hdfs:"
"""How a checksum begins that is the store's own."""
OF_STORE = (OF_S3, OF_HDFS)
SEAL_FORMAT = 3
FORMATS = {OF_S3: 2, OF_HDFS: 3}
"""The format of a seal that has such a checksum; 1 where every one is a SHA-256."""
CHUNK_BYTES = 1024 * 1024
THREADS = 2 * (os.cpu_count() or 2)
"""Twice the processors: while one file is read, another one is hashed."""

CHANGED = "is not what it was when it was sealed"
BESIDE = (layout.MANIFEST, layout.PROGRESS)
"""What a seal covers beside the files that the manifest names."""


@dataclass(frozen=True)
class Seal:
    """`checksums.json`: SHA-256 in hex, or `etag:` or `hdfs:` and the store's own, of every file of the manifest; SHA-256 of the manifest
    itself and of `progress.json` where there is one; and when they were computed."""

    format: Format
    savepoint: SavepointId
    sealed_ms: Moment
    files: Mapping[str, str]


def seal(
    library: Storage,
    savepoint: SavepointId,
    now_ms: int,
    advance: Advance = unwatched,
    entries: Mapping[str, Entry] | None = None,
    threads: int = THREADS,
) -> Seal:
    """Computes and writes the checksums of a complete savepoint once; the seal that is there stays. Corrupt where a file is missing.
    `entries` as in `completeness.damages`."""
    existing = read(library, savepoint)
    if existing is not None:
        return existing
    manifest = manifests.load(library, savepoint)
    entries = completeness.there(library, savepoint) if entries is None else entries
    completeness.refuse(savepoint, completeness.damages(library, savepoint, manifest.files, entries))
    files = sealed_files(manifest)
    if progress_file.read(library, savepoint):
        files.append(layout.PROGRESS)
    own = _of_store(library, savepoint, files, entries)
    read_here = checksums(library, savepoint, [path for path in files if path not in own], advance, threads=threads)
    digests = {path: own[path] if path in own else read_here[path] for path in files}
    if "" in digests.values():
        raise NotFound("savepoint.not_found", f"Savepoint {savepoint} was disposed of while it was sealed", "Nothing is left to seal.")
    new_seal = Seal(max((FORMATS.get(_kind(digest), 1) for digest in digests.values()), default=1), savepoint, now_ms, digests)
    manifests.write_beside(library, savepoint, layout.CHECKSUMS, documents.encode(new_seal))
    return new_seal


def alone(library: Storage, seal: Seal, advance: Advance = unwatched) -> Seal:
    """The seal of the savepoint for a place where all files are in its folder: with a SHA-256 of each, and of the manifest that names no
    object. Corrupt (`savepoint.damaged`) where something is not what was sealed."""
    data = library.read(layout.inside(seal.savepoint, layout.MANIFEST))
    written = manifests.alone(data, seal.savepoint)
    stored = [path for path, checksum in seal.files.items() if checksum.startswith(OF_STORE)]
    if written is data and not stored:
        return seal
    now = checksums(library, seal.savepoint, [*stored, layout.MANIFEST], like=seal.files)
    completeness.refuse(seal.savepoint, [Damage(path, "checksum", CHANGED) for path in now if now[path] != seal.files[path]])
    digests = {**checksums(library, seal.savepoint, stored, advance), layout.MANIFEST: hashlib.sha256(written).hexdigest()}
    return replace(seal, format=1, files={**seal.files, **digests})


def is_of_store(files: Mapping[str, str]) -> bool:
    """Whether some of the checksums mean something only where the files are."""
    return any(checksum.startswith(OF_STORE) for checksum in files.values())


def _of_store(library: Storage, savepoint: SavepointId, files: Iterable[str], entries: Mapping[str, Entry]) -> Mapping[str, str]:
    """The store's own checksums of a savepoint's files, where it has them. Who cannot be asked of a file may still let it be read."""
    if not isinstance(library, Sums):
        return {path: tag for path, tag in _tags(entries).items() if path not in BESIDE}

    def ask(path: str) -> str:
        with suppress(Unavailable):
            return _of_hdfs(library, layout.inside(savepoint, path))
        return ""

    asked = [path for path in files if path not in BESIDE]
    return {path: checksum for path, checksum in zip(asked, parallel.each(ask, asked, THREADS), strict=True) if checksum}


def _tags(entries: Mapping[str, Entry]) -> Mapping[str, str]:
    return {path: f"{OF_S3}{entry.tag}" for path, entry in entries.items() if entry.tag}


def _kind(checksum: str) -> str:
    """How it begins where it is a store's own; empty for a SHA-256."""
    return next((kind for kind in OF_STORE if checksum.startswith(kind)), "")


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


def checksums(
    library: Storage,
    savepoint: SavepointId,
    files: Iterable[str],
    advance: Advance = unwatched,
    *,
    like: Mapping[str, str] | None = None,
    entries: Mapping[str, Entry] | None = None,
    threads: int = THREADS,
) -> dict[str, str]:
    """A checksum by path, of the kind that it has in `like`, a SHA-256 in hex where it has none there; empty for a file that is gone: no
    checksum equals that. `entries` as in `completeness.damages`.

    `advance` is told the bytes of each piece that is read of the files that a manifest names.
    Many files at once: hashing and reading leave the interpreter's lock, so the disk or the processors set the speed; no more processors
    than `threads` work on it.
    """
    paths = list(files)
    kinds = {path: _kind((like or {}).get(path, "")) for path in paths if path not in BESIDE}
    if OF_S3 in kinds.values() and entries is None:
        entries = completeness.there(library, savepoint)
    tags = _tags(entries or {})
    halt = parallel.Halt()
    watched = halt.watched(advance)

    def digest(path: str) -> str:
        kind = kinds.get(path, "")
        if kind == OF_S3:
            return tags.get(path, "")
        if kind == OF_HDFS:
            return _of_hdfs(library, layout.inside(savepoint, path))
        return _sha256(library, layout.inside(savepoint, path), unwatched if path in BESIDE else watched)

    digests = parallel.each(digest, paths, threads, halt, brief=True)
    return dict(zip(paths, digests, strict=True))


def _of_hdfs(storage: Storage, path: str) -> str:
    """HDFS's own; empty for a file that is gone, and elsewhere."""
    try:
        return f"{OF_HDFS}{storage.checksum(path)}" if isinstance(storage, Sums) else ""
    except NotFound:
        return ""


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
