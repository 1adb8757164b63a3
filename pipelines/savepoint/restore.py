"""Restore a savepoint into new checkpoints: for a fork (a new query id) or a resume (the same)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pipelines.domain import unrepeatable_sources
from pipelines.domain.errors import AlreadyExists, TidemarkError, refusal
from pipelines.domain.ids import QueryName, SavepointId
from pipelines.domain.restores import SHARED, RestorePlan, SinkPlan
from pipelines.domain.savepoints import Manifest, StoredFile
from pipelines.domain.trust import Damage
from pipelines.domain.watch import UNWATCHED, Watch
from pipelines.savepoint import clone, completeness, layout, leases, manifests, outputs, process_marks, sinks, targets
from pipelines.savepoint.gc_pause import gc_paused
from pipelines.savepoint.restored_sinks import RestoredSink
from pipelines.savepoint.targets import Adopt, Files, Fork, Resume, Scratch, Target
from pipelines.storage import documents, folders, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone, Storage
from pipelines.storage.rollback import rollback

__all__ = ["Adopt", "Fork", "Restored", "Resume", "Scratch", "Target", "clean", "plan", "restore", "unfinished"]

UNFINISHED = ".making-"
IN_PLACE = "restore in place"
"""How the purpose in the mark of a restore begins that is built under its own name, where nothing can be renamed."""
HARMLESS = {"noop", "console"}
Open = Callable[[str], Storage]


@dataclass(frozen=True)
class Restored:
    """What a restore made. `sink_logs` is for `RunSpec.sink_logs`: query -> directory with the log to carry into its file sink."""

    checkpoints: str
    sink_logs: Mapping[QueryName, str]
    files: int
    new_bytes: int


def plan(library: Storage, manifest: Manifest, target: Target, open_target: Open = open_storage) -> RestorePlan:
    """The plan of `restore`. Raises Corrupt as it does; a sink that it refuses has the action `refuse`, and is the plan's refusal."""
    begun, refused = _begun(library, manifest, target)
    files = targets.files(library, manifest, target, begun)
    storage = open_target(_split(target.checkpoints)[0])
    decided = tuple(sink.decision.plan for sink in begun)
    brought = [sink.brought for sink in begun if sink.brought is not None]
    expected = [clone.expect(storage, [_transfer(library, manifest, "", files.clones)])]
    expected += [clone.expect(open_target(each.to), [outputs.transfer(each)]) for each in brought]
    cloned, written = sum(file.bytes for file in files.clones.values()), sum(map(len, files.written.values()))
    return RestorePlan(
        savepoint=manifest.id,
        job=target.job,
        keeps_query_id=isinstance(target, Resume | Adopt),
        checkpoints=target.checkpoints,
        files=len(files.clones) + len(files.written),
        requests=0 if folders.local(storage) else outputs.requests(len(files.clones), len(files.written), brought),
        bytes=cloned + written,
        new_bytes=written + sum(each.copied_bytes for each in expected),
        how=expected[0].ways[0].value,
        server_bytes=written + sum(each.server_bytes for each in expected),
        sinks=decided,
        warnings=(*warnings(decided), *unrepeatable_sources.remarks(manifest.queries)),
        refusal=refusal(refused) if refused else None,
    )


def restore(
    library: Storage,
    savepoint: SavepointId,
    target: Target,
    now_ms: int,
    open_target: Open = open_storage,
    lives: process_marks.Lives = process_marks.lives,
    watch: Watch = UNWATCHED,
) -> Restored:
    """New checkpoints at `target.checkpoints`, whole or not at all.

    Raises NotFound, Corrupt (`savepoint.damaged`, naming the file), Conflict (`restore.sink_shared`, `restore.table_shared`,
    `restore.history_gone`, `savepoint.disposing`), Invalid (`fork.sink_choice`), AlreadyExists (`restore.exists`), what `watch` raises.
    """
    manifests.load(library, savepoint)
    parent, name = _split(target.checkpoints)
    storage = open_target(parent)
    if next(iter(storage.list(name)), None) is not None:
        raise AlreadyExists("restore.exists", f"{target.checkpoints} holds files already", "Restore into a directory that does not exist.")
    with leases.lease(library, savepoint, target.checkpoints, now_ms, lives), gc_paused():
        manifest = manifests.load(library, savepoint)
        begun, refused = _begun(library, manifest, target)
        if refused is not None:
            raise refused
        brought = sum(outputs.bring(sink.brought, open_target(sink.brought.to), watch) for sink in begun if sink.brought is not None)  # 0
        made = _make(library, manifest, target, targets.files(library, manifest, target, begun), storage, now_ms, watch)
        return replace(made, new_bytes=made.new_bytes + brought)


def unfinished(checkpoints: str) -> str:
    """Where a restore into `checkpoints` is built, on a storage that renames."""
    return f"{checkpoints}{UNFINISHED}{hashlib.sha256(checkpoints.encode()).hexdigest()[:12]}"


def clean(parent: str, now_ms: int, lives: process_marks.Lives = process_marks.lives) -> tuple[str, ...]:
    """Removes restores below `parent` (a folder of checkpoints) whose process died; returns the folders that were removed.

    One that was published stays, without its process mark: all but those that were built in place, which taking the mark away publishes.
    """
    storage = open_storage(parent)
    removed = [name for name in folders.children(storage) if UNFINISHED in name and not _lives(storage, name, now_ms, lives)]
    for name in removed:
        folders.remove(storage, name)
    for name in folders.children(storage):
        mark = None if UNFINISHED in name else process_marks.read(storage, paths.join(name, layout.MAKING))
        if mark is None or lives(mark, now_ms):
            continue
        if mark.purpose.startswith(IN_PLACE):
            storage.delete([entry.path for entry in storage.list(name) if entry.path != paths.join(name, layout.MAKING)])
            folders.remove(storage, name)  # the mark goes last, so that a removal which breaks off can be done again
            removed.append(name)
        else:
            storage.delete([paths.join(name, layout.MAKING)])
    return tuple(f"{storage.url}/{name}" for name in removed)


def _make(
    library: Storage,
    manifest: Manifest,
    target: Target,
    files: Files,
    storage: Storage,
    now_ms: int,
    watch: Watch,
) -> Restored:
    """Built aside; all before step 5 is undone on an error. A bucket has no rename, and to copy all a second time would be dear: there it
    is built under its name, and step 6 publishes it.

    0. the files of its output, which no log names yet, were brought;
    1. say who makes it;
    2. clone the checkpoints and sink logs;
    3. write what differs: a fork's query ids, paths of the checkpoint itself;
    4. flush all to disk, check that all is there with its size;
    5. give it its name, which publishes;
    6. take the process mark away.
    """
    renames, name = folders.renames(storage), _split(target.checkpoints)[1]
    aside = _split(unfinished(target.checkpoints))[1] if renames else name
    clones, written = files.clones, files.written
    folders.remove(storage, aside)
    with rollback(lambda: folders.remove(storage, aside), aside):
        purpose = f"{'restore' if renames else IN_PLACE} {manifest.id}"
        mark = documents.encode(process_marks.this_process(now_ms, purpose))
        folders.put(storage, {paths.join(aside, layout.MAKING): mark})  # 1
        copied = _clone(library, manifest, storage, aside, clones, watch)  # 2
        folders.put(storage, {paths.join(aside, path): data for path, data in written.items()})  # 3
        watch.step(clone.SETTLING)
        _check(storage, aside, clones, written)  # 4
        if renames:
            folders.rename(storage, aside, name)  # 5
        else:
            storage.delete([paths.join(name, layout.MAKING)])  # 6
    if renames:
        with suppress(TidemarkError):  # 6: published all the same; Spark does not look at the mark
            storage.delete([paths.join(name, layout.MAKING)])
    return Restored(target.checkpoints, files.sink_logs, len(clones) + len(written), copied + sum(map(len, written.values())))


def _clone(library: Storage, manifest: Manifest, storage: Storage, aside: str, clones: Mapping[str, StoredFile], watch: Watch) -> int:
    """Clones the files; answers with the bytes that were copied because they could not be linked."""
    transfer = _transfer(library, manifest, aside, clones)
    (ways,) = clone.all_of(storage, [transfer], watch)
    return clone.added_bytes(transfer.files, ways)


def _transfer(library: Storage, manifest: Manifest, folder: str, clones: Mapping[str, StoredFile]) -> clone.Transfer:
    """Files of a savepoint on their way into `folder`."""
    pairs = [Clone(layout.inside(manifest.id, file.path), paths.join(folder, path), file.bytes) for path, file in clones.items()]
    return clone.Transfer(library, pairs, list(clones.values()))


def _check(storage: Storage, aside: str, clones: Mapping[str, StoredFile], written: Mapping[str, bytes]) -> None:
    files = [StoredFile(path, file.bytes) for path, file in clones.items()]
    files += [StoredFile(path, len(data)) for path, data in written.items()]
    completeness.settle(storage, aside, files, written)


def _begun(library: Storage, manifest: Manifest, target: Target) -> tuple[Sequence[RestoredSink], TidemarkError | None]:
    """How the sinks begin, and why they cannot: the one judgement of the plan and of the restore. Raises Corrupt for damage."""
    completeness.refuse(manifest.id, _damages(library, manifest, target))
    begun = targets.sinks_of(library, manifest, target)
    return begun, sinks.refusal(sink.decision for sink in begun)


def _damages(library: Storage, manifest: Manifest, target: Target) -> Sequence[Damage]:
    """Damages of the sizes now, and those of the last verification; a scratch restore leaves out the latter, which it checks anew."""
    verification = None if isinstance(target, Scratch) else manifests.last_verification(library, manifest.id)
    return [*completeness.damages(library, manifest.id, manifest.files), *(verification.damages if verification else ())]


def warnings(decided: Sequence[SinkPlan]) -> tuple[str, ...]:
    """Messages of the sinks' plans that somebody should read before going on."""
    return tuple(f"{sink.query}: {sink.message}" for sink in decided if _risky(sink))


def _risky(sink: SinkPlan) -> bool:
    return sink.action in ("refuse", "cut", "swap", SHARED) or (sink.action == "none" and sink.sink not in HARMLESS)


def _split(url: str) -> tuple[str, str]:
    parent, _, name = url.rstrip("/").rpartition("/")
    return parent, name


def _lives(storage: Storage, aside: str, now_ms: int, lives: process_marks.Lives) -> bool:
    mark = process_marks.read(storage, paths.join(aside, layout.MAKING))
    return mark is not None and lives(mark, now_ms)
