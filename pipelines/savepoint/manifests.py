"""The manifest of a savepoint: read with its format and paths checked, and seen as what lists show."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from pipelines.domain.bounds import MOST
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import MANIFEST_FORMAT, Manifest, Savepoint
from pipelines.domain.texts import CODE, LABEL
from pipelines.domain.trust import Trust, Verification
from pipelines.savepoint import layout
from pipelines.storage import documents
from pipelines.storage.protocol import Storage

T = TypeVar("T")

ALONE_FORMAT = 1
"""Of a savepoint that has all of its files in its folder; only one that shares some with others of its home has a newer format."""
SUMMARY_BYTES = 1024 * 1024
"""What a manifest says beside its files and its code, which every list of savepoints shows, takes no more."""


def load(library: Storage, savepoint: SavepointId) -> Manifest:
    """The manifest of `savepoint`; raises NotFound, Corrupt, or Unsupported for a newer format."""
    try:
        data = library.read(layout.inside(savepoint, layout.MANIFEST))
    except NotFound as error:
        raise NotFound("savepoint.not_found", f"There is no savepoint {savepoint!r}", "List the savepoints to see their ids.") from error
    return decode(data, savepoint)


def decode(data: bytes, savepoint: SavepointId | None) -> Manifest:
    """The manifest in `data`, which lies in the folder of `savepoint`; None for a folder that may have any name (an exported one)."""
    name = f"The manifest of savepoint {savepoint}" if savepoint else "The manifest"
    manifest = layout.trusted(documents.decode(Manifest, data, name, MANIFEST_FORMAT), name)
    if savepoint is not None and manifest.id != savepoint:
        raise Corrupt("savepoint.id", f"{name} belongs to savepoint {manifest.id}", "Give the folder its own name back.")
    if not manifest.begun:
        raise Corrupt("savepoint.empty", f"{name} has no query that had committed a batch", "Use another savepoint.")
    if sum(file.bytes for file in manifest.files) > MOST:
        raise Corrupt("document.malformed", f"{name} is damaged: its files have more than {MOST:,} bytes", "Use another savepoint.")
    return manifest


def counted(manifest: Manifest) -> tuple[Manifest, bytes]:
    """The manifest with its own size among the new bytes, to within the digits of that very number; and as it is written. It can be long:
    it is encoded once, and then its one line with that number (no text has a raw end of line) is replaced."""
    data, line = documents.encode(manifest), b'\n "new_bytes": %d,\n'
    whole = replace(manifest, new_bytes=manifest.new_bytes + len(data))
    return whole, data.replace(line % manifest.new_bytes, line % whole.new_bytes, 1)


def alone(data: bytes, savepoint: SavepointId) -> bytes:
    """The manifest in `data` for a place where all files are in the savepoint's folder: one that is alone already, byte for byte."""
    manifest = decode(data, savepoint)
    return documents.encode(replace(manifest, format=ALONE_FORMAT, objects={})) if manifest.objects else data


def refuse_endless(manifest: Manifest) -> None:
    """Raises Corrupt where a manifest of somewhere else says more, or has a longer script, than a list or a page can show."""
    code, rest = manifest.version.code, replace(manifest, files=(), version=replace(manifest.version, code="", files={}))
    if len(code) > CODE.most or len(documents.encode(rest)) > SUMMARY_BYTES:
        limits = f"a script of more than {CODE.most:,} characters, or more than {SUMMARY_BYTES:,} bytes beside its files"
        raise Corrupt("savepoint.endless", f"The manifest has {limits}", "Use another savepoint.")


def summary(library: Storage, manifest: Manifest, verification: Verification | None) -> Savepoint:
    """The savepoint as lists show it: the manifest, where it is, and the level that its last `verification` reached."""
    return Savepoint(
        id=manifest.id,
        job=manifest.job,
        version=manifest.version.id,
        run=manifest.run,
        created_ms=manifest.created_ms,
        reason=manifest.reason,
        label=LABEL.cut(manifest.label),
        spark_version=manifest.spark_version,
        queries=manifest.queries,
        files=len(manifest.files),
        bytes=sum(file.bytes for file in manifest.files),
        new_bytes=manifest.new_bytes,
        took_ms=manifest.took_ms,
        path=f"{library.url}/{manifest.id}",
        trust=(verification.reached if verification else None) or Trust.COMPLETE,
        verified_ms=verification.at_ms if verification else None,
        damaged_files=len(verification.damages) if verification else 0,
        levels=dict(verification.levels) if verification else {},
    )


def last_verification(library: Storage, savepoint: SavepointId) -> Verification | None:
    """The outcome in `verified.json`; None before the first verify."""
    return read_beside(Verification, library, savepoint, layout.VERIFIED)


def read_beside(kind: type[T], library: Storage, savepoint: SavepointId, name: str, newest: int | None = None) -> T | None:
    """A document beside the manifest of a savepoint, None where there is none; Corrupt, or Unsupported for a format after `newest`."""
    try:
        data = library.read(layout.inside(savepoint, name))
    except NotFound:
        return None
    return documents.decode(kind, data, f"{name} of savepoint {savepoint}", newest)


def write_beside(library: Storage, savepoint: SavepointId, name: str, data: bytes) -> None:
    """A document beside the manifest of a published savepoint; NotFound where that is disposed of meanwhile, and nothing is left then.

    Written first, then looked for: a disposal deletes the manifest before the rest, so one of the two sees the other.
    """
    path = layout.inside(savepoint, name)
    library.write(path, data)
    try:
        library.read(layout.inside(savepoint, layout.MANIFEST))
    except NotFound as error:
        library.delete([path])
        hint = "Nothing is left to do for it."
        raise NotFound("savepoint.not_found", f"Savepoint {savepoint} was disposed of while {name} was written", hint) from error
