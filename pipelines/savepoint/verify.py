"""Verify a savepoint: everything there (complete), everything unchanged since it was sealed (intact)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.domain import unrepeatable_sources
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Manifest
from pipelines.domain.trust import Damage, Trust, Verification, added, kept
from pipelines.savepoint import checksums, completeness, layout, manifests, outside
from pipelines.storage import documents
from pipelines.storage.protocol import Advance, Entry, Storage, unwatched


def check(
    library: Storage, savepoint: SavepointId, level: Trust, now_ms: int, advance: Advance = unwatched, threads: int = checksums.THREADS
) -> Verification:
    """Checks the files alone, up to *intact*; nothing is recorded. Raises NotFound, Corrupt for an unreadable manifest.

    An unsealed savepoint is sealed by its first intact check: its files are then vouched for from that moment on, which
    `sealed_ms` says. So many `threads` compute checksums.
    """
    manifest = manifests.load(library, savepoint)
    entries = completeness.there(library, savepoint)
    complete = _complete(library, manifest, level, now_ms, entries)
    if level is Trust.COMPLETE or complete.reached is None:
        return complete
    return _intact(library, manifest, complete, advance, entries, threads)


def record(library: Storage, verification: Verification) -> Verification:
    """Keeps the outcome in `verified.json`; answers with `verification` and what earlier verifications add to it.

    Raises NotFound where the savepoint was disposed of meanwhile.
    """
    answer, data = joined(library, verification)
    manifests.write_beside(library, verification.savepoint, layout.VERIFIED, data)
    return answer


def joined(library: Storage, verification: Verification) -> tuple[Verification, bytes]:
    """`verification` with what earlier verifications add to it, and the `verified.json` that says so."""
    before = manifests.last_verification(library, verification.savepoint)
    answer = added(before, verification)
    return answer, documents.encode(kept(before, answer))


def _complete(library: Storage, manifest: Manifest, level: Trust, now_ms: int, entries: Mapping[str, Entry]) -> Verification:
    damages = completeness.damages(library, manifest.id, manifest.files, entries)
    return Verification(
        savepoint=manifest.id,
        asked=level,
        reached=None if damages else Trust.COMPLETE,
        at_ms=now_ms,
        files=len(manifest.files),
        bytes=sum(file.bytes for file in manifest.files),
        damages=tuple(damages),
        remarks=(*unrepeatable_sources.remarks(manifest.queries), *outside.remarks(manifest)),
    )


def _intact(
    library: Storage, manifest: Manifest, complete: Verification, advance: Advance, entries: Mapping[str, Entry], threads: int
) -> Verification:
    seal = checksums.read(library, manifest.id)
    if seal is None:
        new_seal = checksums.seal(library, manifest.id, complete.at_ms, advance, entries, threads)
        return replace(complete, reached=Trust.INTACT, sealed_ms=new_seal.sealed_ms)
    files = checksums.sealed_files(manifest, seal)
    now = checksums.checksums(library, manifest.id, files, advance, like=seal.files, entries=entries, threads=threads)
    damages = _differences(files, seal, now)
    return replace(complete, reached=None if damages else Trust.INTACT, damages=tuple(damages), sealed_ms=seal.sealed_ms)


def _differences(files: Sequence[str], seal: checksums.Seal, now: dict[str, str]) -> list[Damage]:
    return [Damage(path, "checksum", checksums.CHANGED) for path in files if seal.files.get(path) != now[path]]
