"""Export a savepoint: the directory that it is, or one `.tar.zst`, at any address; published at the end, read back where asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.domain.errors import AlreadyExists, Corrupt, NotFound, Unavailable
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import ExportPlan, Manifest, StoredFile
from pipelines.domain.watch import UNWATCHED, Watch
from pipelines.savepoint import archive, checksums, completeness, layout, leases, manifests, outside, process_marks
from pipelines.savepoint.addresses import Address, Open, address
from pipelines.savepoint.checksums import Seal
from pipelines.storage import copies, documents, folders, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone, Storage
from pipelines.storage.rollback import rollback


@dataclass(frozen=True)
class Target:
    """Where an export goes. On a local disk it is built in the folder `staging` beside it and renamed; elsewhere in its place,
    where the manifest, or the end of the one upload, publishes it."""

    url: str
    name: str
    archive: bool
    staging: str
    """Name of the folder beside it; empty where it is built in its place."""


def target(at: Address, as_archive: bool | None, unique: str) -> Target:
    """The target at an address; without `as_archive` its ending decides. `unique` tells this export's leftovers from others'."""
    packed = at.name.endswith(archive.ENDINGS) if as_archive is None else as_archive
    return Target(at.url, at.name, packed, f".{at.name}.exporting-{unique}" if folders.local(at.parent) else "")


def plan(library: Storage, savepoint: SavepointId, to: Target, disposes: bool) -> ExportPlan:
    """The plan of `export`; raises what `export` raises before it writes."""
    parent = address(to.url, open_storage).parent
    manifest = _refused(library, savepoint, parent, to)
    how = "archive" if to.archive else folders.expected_how(library, parent).value
    return ExportPlan(
        savepoint, to.url, to.archive, len(manifest.files), _bytes(manifest), how, disposes, manifest.job, tuple(outside.left(manifest))
    )


def export(
    library: Storage,
    savepoint: SavepointId,
    to: Target,
    now_ms: int,
    watch: Watch = UNWATCHED,
    *,
    read_back: bool = False,
    open_at: Open = open_storage,
    lives: process_marks.Lives = process_marks.lives,
) -> None:
    """The savepoint at `to`, whole or not at all; with `read_back` also found intact there.

    Raises NotFound, AlreadyExists (`export.exists`), Corrupt (`savepoint.damaged`, `export.damaged` for a copy that is not what was
    exported), Conflict (`savepoint.disposing`), Unavailable for a target that cannot be written.
    """
    parent = address(to.url, open_at).parent
    with leases.lease(library, savepoint, f"export to {to.url}", now_ms, lives):
        manifest = _refused(library, savepoint, parent, to)
        watch.step("computing checksums", _bytes(manifest))
        seal = checksums.alone(library, checksums.seal(library, savepoint, now_ms, watch.advance), watch.advance)
        folders.make_shared(parent)
        with rollback(lambda: _remove(parent, to), f"What was built at {to.url}"):
            watch.step("compressing" if to.archive else "copying", _bytes(manifest))
            (_pack if to.archive else _copy)(library, manifest, seal, parent, to, watch)
        if read_back:
            with rollback(lambda: _withdraw(parent, to), to.url, "remove it by hand"):
                watch.step("reading back", _bytes(manifest))
                check(parent, to, manifest, seal, watch)


def check(parent: Storage, to: Target, manifest: Manifest, seal: Seal, watch: Watch) -> None:
    """Reads an exported savepoint from its first byte to its last; Corrupt (`export.damaged`) where it is not what was sealed."""
    try:
        if to.archive:
            with copies.opened(parent, to.name) as stream:
                packed = archive.Packed(stream)
                for _, _, content in packed.files(watch.advance):
                    while content.read(archive.PIECE_BYTES):
                        pass
            sealed = packed.head.seal
        else:
            sealed = _checked_folder(parent, to, manifest, seal, watch)
    except (Corrupt, NotFound) as error:
        raise _damaged(to, error.message) from error
    if sealed != seal:
        raise _damaged(to, "it is another savepoint's")


def clean(to: Target) -> None:
    """Removes the rest of an interrupted export to `to`; a published one stays."""
    _remove(address(to.url, open_storage).parent, to)


def _refused(library: Storage, savepoint: SavepointId, parent: Storage, to: Target) -> Manifest:
    manifest = manifests.load(library, savepoint)
    verification = manifests.last_verification(library, savepoint)
    completeness.refuse(
        savepoint, [*completeness.damages(library, savepoint, manifest.files), *(verification.damages if verification else ())]
    )
    if folders.taken(parent, to.name):
        raise AlreadyExists("export.exists", f"There is something at {to.url} already", "Name a place that does not exist yet.")
    return manifest


def _copy(library: Storage, manifest: Manifest, seal: Seal, parent: Storage, to: Target, watch: Watch) -> None:
    """The order is the correctness: nothing before 4 is a savepoint to anybody.

    1. the files, by the cheapest way;
    2. what belongs to them: checksums, verification, progress, annotation;
    3. all on disk, with its size;
    4. the manifest;
    5. the name.
    """
    inside = to.staging or to.name
    clones = [Clone(layout.inside(manifest.id, file.path), paths.join(inside, file.path), file.bytes) for file in manifest.files]
    list(parent.clone(library, clones, watch.advance))  # 1
    beside = {paths.join(inside, name): data for name, data in _documents(library, manifest, seal)}
    manifest_data = beside.pop(paths.join(inside, layout.MANIFEST))
    folders.put(parent, beside)  # 2
    folders.flush(parent, {paths.parent(clone.target) for clone in clones}, beside)
    _whole(parent, inside, [*manifest.files, *(StoredFile(path.removeprefix(f"{inside}/"), len(beside[path])) for path in beside)])  # 3
    parent.write(paths.join(inside, layout.MANIFEST), manifest_data)  # 4
    if to.staging:
        folders.share(parent, to.staging)
        folders.rename(parent, to.staging, to.name)  # 5


def _pack(library: Storage, manifest: Manifest, seal: Seal, parent: Storage, to: Target, watch: Watch) -> None:
    """Written as one stream; published by its end, or by its name."""
    built = paths.join(to.staging, to.name)
    with copies.writing(parent, built) as file, archive.packing(file) as tar:
        for name, data in _documents(library, manifest, seal):
            archive.put_bytes(tar, layout.inside(manifest.id, name), data, manifest.created_ms)
        for stored in manifest.files:
            with copies.opened(library, layout.inside(manifest.id, stored.path)) as stream:
                content = archive.Checked(stream, seal.files[stored.path], watch.advance)
                archive.put(tar, layout.inside(manifest.id, stored.path), stored.bytes, manifest.created_ms, content)
    if to.staging:
        folders.share(parent, built)
        folders.rename(parent, built, to.name)
        folders.remove(parent, to.staging)


def _documents(library: Storage, manifest: Manifest, seal: Seal) -> Iterator[tuple[str, bytes]]:
    """Name -> content: the manifest and the seal first, as archives have them."""
    yield layout.MANIFEST, manifests.alone(library.read(layout.inside(manifest.id, layout.MANIFEST)), manifest.id)
    yield layout.CHECKSUMS, documents.encode(seal)
    for name in layout.LATER:
        try:
            yield name, library.read(layout.inside(manifest.id, name))
        except NotFound:
            continue


def _whole(parent: Storage, inside: str, files: list[StoredFile]) -> None:
    for damage in completeness.damages(parent, SavepointId(inside), files):
        raise Unavailable(
            "export.incomplete",
            f"{damage.path} did not arrive whole: {damage.message}",
            "Check the storage that it was exported to, then export again.",
        )


def _checked_folder(parent: Storage, to: Target, manifest: Manifest, seal: Seal, watch: Watch) -> Seal:
    exported = SavepointId(to.name)
    manifest_data, seal_data = (parent.read(paths.join(to.name, name)) for name in (layout.MANIFEST, layout.CHECKSUMS))
    head = archive.head(manifest_data, seal_data, manifest.id)
    files = checksums.sealed_files(manifest, seal)
    digests = checksums.checksums(parent, exported, files, watch.advance)
    for path in files:
        if digests[path] != seal.files[path]:
            raise archive.damaged(path, "is not what it was when it was sealed")
    return head.seal


def _withdraw(parent: Storage, to: Target) -> None:
    """Removes the copy that this export has published, because it is damaged."""
    parent.delete([to.name if to.archive else paths.join(to.name, layout.MANIFEST)])
    folders.remove(parent, to.name)


def _remove(parent: Storage, to: Target) -> None:
    """Removes unpublished files at `to`: the staging folder, or a folder without a manifest."""
    if to.staging:
        folders.remove(parent, to.staging)
    elif not to.archive and not folders.taken(parent, paths.join(to.name, layout.MANIFEST)):
        folders.remove(parent, to.name)


def _damaged(to: Target, why: str) -> Corrupt:
    hint = "Look at that storage, then export again; the savepoint here is untouched, and the copy was removed."
    return Corrupt("export.damaged", f"What was written to {to.url} is not what was exported: {why}", hint)


def _bytes(manifest: Manifest) -> int:
    return sum(file.bytes for file in manifest.files)
