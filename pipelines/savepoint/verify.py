"""Verify a savepoint: everything there (complete), everything unchanged since it was sealed (intact)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipelines.domain.errors import Unsupported
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Damage, Manifest, Trust, Verification
from pipelines.savepoint import completeness, manifests, places, sealing
from pipelines.savepoint.sealing import Advance
from pipelines.storage import documents
from pipelines.storage.protocol import Storage


def verify(library: Storage, savepoint: SavepointId, level: Trust, now_ms: int, advance: Advance = lambda _: None) -> Verification:
    """Checks `savepoint` up to `level` and records the outcome; what is damaged is in the answer, not raised.

    An unsealed savepoint is sealed by its first intact verification: its files are then vouched for from that moment on,
    which `sealed_ms` says. Raises NotFound, Corrupt for an unreadable manifest, Unsupported for the level *proved* (the sandbox's).
    """
    if level is Trust.PROVED:
        raise Unsupported("verify.needs_spark", "Proving a savepoint needs Spark", "Ask the workspace to prove it.")
    manifest = manifests.load(library, savepoint)
    found = _complete(library, manifest, level, now_ms)
    if level is Trust.INTACT and found.reached is not None:
        found = _intact(library, manifest, found, advance)
    record(library, found)
    return found


def record(library: Storage, found: Verification) -> None:
    """Keeps the outcome in `verified.json`; a lower level that was reached does not hide a higher one reached before."""
    before = manifests.last_verification(library, found.savepoint)
    if before is None or _rank(found) == 0 or _rank(found) >= _rank(before):
        library.write(places.inside(found.savepoint, places.VERIFIED), documents.encode(found))


def _rank(found: Verification) -> int:
    """0 for a damaged one, then higher with the level reached."""
    return list(Trust).index(found.reached) + 1 if found.reached else 0


def _complete(library: Storage, manifest: Manifest, asked: Trust, now_ms: int) -> Verification:
    damages = completeness.damages(library, manifest.id, manifest.files)
    return Verification(
        savepoint=manifest.id,
        asked=asked,
        reached=None if damages else Trust.COMPLETE,
        at_ms=now_ms,
        files=len(manifest.files),
        bytes=sum(file.bytes for file in manifest.files),
        damages=tuple(damages),
    )


def _intact(library: Storage, manifest: Manifest, complete: Verification, advance: Advance) -> Verification:
    seal = sealing.read(library, manifest.id)
    if seal is None:
        made = sealing.seal(library, manifest.id, complete.at_ms, advance)
        return replace(complete, reached=Trust.INTACT, sealed_ms=made.sealed_ms)
    files = sealing.sealed_files(manifest)
    damages = _differences(files, seal, sealing.checksums(library, manifest.id, files, advance))
    return replace(complete, reached=None if damages else Trust.INTACT, damages=tuple(damages), sealed_ms=seal.sealed_ms)


def _differences(files: Sequence[str], seal: sealing.Seal, now: dict[str, str]) -> list[Damage]:
    return [Damage(path, "checksum", "is not what it was when it was sealed") for path in files if seal.files.get(path) != now[path]]
