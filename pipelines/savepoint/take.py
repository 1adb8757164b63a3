"""Take a savepoint of a job from outside, while it runs: from files that no longer change, so the job does not notice."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from pipelines.checkpoint import damage
from pipelines.domain import unrepeatable_sources
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, NotFound, TidemarkError, Unavailable
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import MANIFEST_FORMAT, Manifest, QueryImage, Reason, Savepoint, StoredFile, TakePlan
from pipelines.domain.watch import UNWATCHED, Watch
from pipelines.savepoint import clone, completeness, layout, manifests, objects, outside, process_marks, sharing, shelves
from pipelines.savepoint.batch_choice import BatchChoice, OfBatch, OfBatches
from pipelines.savepoint.contents import Part, QueryContents, gather
from pipelines.savepoint.discard import discard
from pipelines.savepoint.gc_pause import gc_paused
from pipelines.savepoint.sharing import Sharing
from pipelines.savepoint.source import JobSource
from pipelines.storage import documents, folders
from pipelines.storage.protocol import How, Storage
from pipelines.storage.rollback import rollback
from pipelines.words.savepoints import left_tables

T = TypeVar("T")
TRIES = 5
"""Spark deletes old files while we read: each try begins with the newest batch of that moment."""
VANISHED = {"storage.not_found", damage.MISSING, damage.NOT_COMMITTED}
"""What a file that Spark deletes under us looks like: gone when cloned, when listed, or its commit since the batch was chosen."""


@dataclass(frozen=True)
class Naming:
    """The caller's part of a savepoint: its id, when and why it is taken, and its label."""

    id: SavepointId
    now_ms: int
    reason: Reason = Reason.MANUAL
    label: str = ""


@dataclass(frozen=True)
class Look:
    """The contents of a savepoint taken now, and its plan."""

    plan: TakePlan
    gathered: Sequence[QueryContents]
    took_ms: float
    """Of gathering it."""

    @property
    def images(self) -> Sequence[QueryImage]:
        return [query.image for query in self.gathered]


def look(job: JobSource, choice: BatchChoice, library: Storage, clock: Callable[[], float] = time.perf_counter) -> Look:
    """The plan of `take` as of now, with the contents that `take` uses for its first try. Raises Conflict `savepoint.no_batch`, NotFound
    `savepoint.not_retained`, Invalid, Corrupt; Unavailable `savepoint.moving` where files kept vanishing."""
    began = clock()
    gathered = _tried(job, choice, lambda _: gather(job, choice, library))
    took_ms = (clock() - began) * 1000
    return Look(_plan(job, gathered, library), gathered, took_ms)


def _plan(job: JobSource, gathered: Sequence[QueryContents], library: Storage) -> TakePlan:
    parts = _parts(job, gathered)
    expected = clone.expect(library, _transfers(parts, sharing.look(library, parts)))
    files, images = _files(job, parts), [query.image for query in gathered]
    written = sum(len(data) for data in _written(job, parts).values())
    return TakePlan(
        job=job.job,
        batches={query.image.query: query.image.batch for query in gathered if query.image.begun},
        files=len(files),
        bytes=sum(file.bytes for file in files),
        new_bytes=expected.copied_bytes + written,
        how=", ".join(sorted({how for part, how in zip(parts, expected.ways, strict=True) if part.clone})),
        server_bytes=expected.server_bytes + written,
        warnings=(*unrepeatable_sources.remarks(images), *left_tables(images)),
        not_begun=tuple(query.image.query for query in gathered if not query.image.begun),
    )


def take(
    job: JobSource,
    choice: BatchChoice,
    library: Storage,
    naming: Naming,
    watch: Watch = UNWATCHED,
    *,
    first: Look | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Savepoint:
    """A savepoint of `job` in `library` (the storage of all savepoints), published when this returns.

    The `first` try takes the contents of a look, each later one lists them anew. `watch` hears of each try.

    Raises what `look` raises, and what `watch` raises; AlreadyExists for an id in use.
    """
    began, before_ms = clock(), first.took_ms if first is not None else 0.0
    if next(iter(library.list(naming.id)), None) is not None:
        raise AlreadyExists("savepoint.exists", f"There is a savepoint {naming.id!r} already", "Take it under another id.")

    def attempt(number: int) -> Savepoint:
        gathered = first.gathered if first is not None and number == 0 else gather(job, choice, library)
        return _make(job, gathered, library, naming, lambda: before_ms + (clock() - began) * 1000, watch)

    return _tried(job, choice, attempt)


def _tried(job: JobSource, choice: BatchChoice, attempt: Callable[[int], T]) -> T:
    """Calls `attempt`, up to `TRIES` times while Spark deletes files that it reads, and returns its answer."""
    vanished: TidemarkError | None = None
    for number in range(TRIES):
        try:
            with gc_paused():
                return attempt(number)
        except (NotFound, Corrupt, Conflict) as error:
            if error.code not in VANISHED:
                raise
            vanished = error
    raise vanished if isinstance(vanished, Corrupt) else _moving(job, choice) from vanished


def _make(
    job: JobSource, gathered: Sequence[QueryContents], library: Storage, naming: Naming, took_ms: Callable[[], float], watch: Watch
) -> Savepoint:
    """The order of the steps is the correctness: all before 5 is invisible to readers, and undone on an error.

    1. say who makes it, so that cleaners leave it alone;
    2. claim what it shares with other savepoints of its home, clone those of Spark's files that are not there;
    3. write what differs from Spark's files, and the code;
    4. flush the names to disk, check that all that lies in its folder is the file that was listed, or is there with its size;
    5. write the manifest, which publishes; look whether the claim has held until then;
    6. take the claim and the process mark away.
    """
    parts = _parts(job, gathered)
    mark = layout.inside(naming.id, layout.MAKING)
    with rollback(lambda: discard(library, naming.id), f"What was made of savepoint {naming.id}"):
        folders.put(library, {mark: documents.encode(process_marks.this_process(naming.now_ms, "take"))})  # 1
        shared = sharing.begin(library, naming.id, parts)  # 2
        cloned = _clone(parts, library, naming.id, shared, watch)
        written = _written(job, parts)
        folders.put(library, {layout.inside(naming.id, path): data for path, data in written.items()})  # 3
        files = _files(job, parts)
        watch.step(clone.SETTLING)
        own = files if not shared.names else [file for file in files if file.path not in shared.names]
        completeness.settle(shelves.own(library), naming.id, own, written, cloned.proved)  # 4
        manifest, data = manifests.counted(_manifest(job, gathered, naming, files, cloned, written, took_ms(), shared))
        library.write(layout.inside(naming.id, layout.MANIFEST), data)  # 5
        sharing.confirm(library, naming.id, shared)
    with suppress(TidemarkError):  # 6: published all the same; a mark that stays is taken away by `library.clean`
        library.delete([*([objects.claim_file(naming.id)] if shared.names else []), mark])
    return manifests.summary(library, manifest, None)


def _parts(job: JobSource, gathered: Sequence[QueryContents]) -> list[Part]:
    return [*(part for query in gathered for part in query.parts), *outside.parts(job)]


@dataclass(frozen=True)
class Done:
    """Files that were put into the savepoint, by way, and the bytes that this added; `proved` are links of what was listed."""

    ways: Counter[str]
    new_bytes: int
    proved: Set[str]


def _clone(parts: Sequence[Part], library: Storage, savepoint: SavepointId, shared: Sharing, watch: Watch) -> Done:
    """Clones what is missing, by paths of the library."""
    missing = _transfers(parts, shared)
    transfers = [replace(each, clones=shared.targets(savepoint, each.clones)) for each in missing]
    kept = sum(len(part.clone) for part in parts) - sum(len(each.clones) for each in transfers)
    ways, new_bytes, proved = Counter({clone.SHARED: kept}), 0, set[str]()
    for transfer, done in zip(missing, clone.all_of(library, transfers, watch), strict=True):
        ways += Counter({how.value: done.count(how) for how in How})
        new_bytes += clone.added_bytes(transfer.files, done)
        proved.update(file.target for file, how in zip(transfer.clones, done, strict=True) if how is How.LINK and file.inode)
    return Done(+ways, new_bytes, proved)


def _transfers(parts: Iterable[Part], shared: Sharing) -> list[clone.Transfer]:
    """What of each part is to be cloned, by paths of the savepoint."""
    return [clone.Transfer(part.source, *shared.missing(part)) for part in parts]


def _written(job: JobSource, parts: Iterable[Part]) -> dict[str, bytes]:
    """Files that are written rather than cloned: those of each part, and the version's script with its files."""
    written = {path: data for part in parts for path, data in part.write.items()}
    return written | {layout.code(path): data for path, data in job.version.contents.items()}


def _files(job: JobSource, parts: Sequence[Part]) -> tuple[StoredFile, ...]:
    cloned = [file for part in parts for file in part.cloned]
    written = [StoredFile(path, len(data)) for path, data in _written(job, parts).items()]
    return tuple(sorted(cloned + written, key=lambda file: file.path))


def _manifest(
    job: JobSource,
    gathered: Sequence[QueryContents],
    naming: Naming,
    files: tuple[StoredFile, ...],
    done: Done,
    written: Mapping[str, bytes],
    took_ms: float,
    shared: Sharing,
) -> Manifest:
    return Manifest(
        format=MANIFEST_FORMAT if shared.names else manifests.ALONE_FORMAT,
        id=naming.id,
        job=job.job,
        version=job.version,
        run=job.run,
        created_ms=naming.now_ms,
        reason=naming.reason,
        label=naming.label,
        spark_version=job.spark_version,
        queries=tuple(query.image for query in gathered),
        files=files,
        new_bytes=done.new_bytes + sum(map(len, written.values())),
        took_ms=round(took_ms, 1),
        how=dict(done.ways + Counter(written=len(written))),
        installed=job.installed,
        objects=shared.names,
    )


def _moving(job: JobSource, choice: BatchChoice) -> Unavailable:
    return Unavailable(
        "savepoint.moving",
        f"Spark deleted files of {job.job} while they were read, {TRIES} times in a row",
        "Let Spark keep more batches (spark.sql.streaming.minBatchesToRetain), or "
        + ("choose a newer batch." if isinstance(choice, OfBatch | OfBatches) else "use longer triggers."),
    )
