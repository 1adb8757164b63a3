"""Savepoints: taken of a job as it stands, listed, disposed of. The engine does it; here the catalog and the events follow."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog import savepoints as savepoint_rows
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.requests import AnnotateRequest, TakeRequest
from pipelines.domain.savepoints import DisposePlan, Manifest, Reason, RetainedBatch, Savepoint, TakePlan
from pipelines.savepoint import annotating, choosing, gather, library
from pipelines.savepoint import dispose as disposing
from pipelines.savepoint import take as taking
from pipelines.savepoint.choosing import Point
from pipelines.storage.protocol import Storage
from pipelines.storage.watching import Watch
from pipelines.workspace import events, images, operations, readings, runs
from pipelines.workspace.parts import Parts


def take(parts: Parts, job: str, request: TakeRequest, *, reason: Reason = Reason.MANUAL) -> Savepoint | TakePlan:
    """A savepoint of a job, running or not; published when this returns. Raises what `pipelines.savepoint.take` raises."""
    name = runs.known(parts, job)
    if request.dry_run:
        return plan(parts, parts.library, name, request)
    wanted = operations.cancellable(parts, "take", name)
    return operations.noticed(parts, wanted, lambda ticket: _take(parts, name, request, reason, ticket), lambda taken: taken.id)


def _take(parts: Parts, job: JobName, request: TakeRequest, reason: Reason, watch: Watch) -> Savepoint:
    taken = take_into(parts, parts.library, job, request, reason, watch)
    record(parts, taken)
    parts.unsealed.put(taken.id)
    said = f" ({taken.label})" if taken.label else ""
    events.say(parts, "savepoint.taken", job, taken.id, f"savepoint {taken.id}{said} of batch {taken.batch} in {taken.took_ms:.0f} ms")
    return taken


def plan(parts: Parts, shelf: Storage, job: JobName, request: TakeRequest) -> TakePlan:
    """What `take_into` would do."""
    return taking.plan(images.image(parts, job), _point(request), shelf)


def take_into(parts: Parts, shelf: Storage, job: JobName, request: TakeRequest, reason: Reason, watch: Watch) -> Savepoint:
    """The savepoint in any storage of savepoints, unknown to the catalog."""
    image = images.image(parts, job)
    naming = taking.Naming(SavepointId(parts.new_id("sp")), parts.now_ms(), reason, request.label)
    return taking.take(image, _point(request), shelf, naming, watch)


def _point(request: TakeRequest) -> Point:
    return choosing.point(request.batch, request.at_ms, request.event_ms)


def record(parts: Parts, savepoint: Savepoint) -> None:
    with parts.catalog.writing() as writer:
        savepoint_rows.save(writer, [savepoint])


def refresh(parts: Parts, savepoint: SavepointId) -> None:
    """The catalog has `savepoint` as its files are now; NotFound where it was disposed of meanwhile, and the catalog forgets it then.

    Looked for once more after it was written: a disposal deletes the files before the row, so no row outlives both.
    """
    record(parts, library.load(parts.library, savepoint))
    try:
        library.manifest(parts.library, savepoint)
    except NotFound:
        with parts.catalog.writing() as writer:
            savepoint_rows.forget(writer, savepoint)
        raise


def retained(parts: Parts, job: str) -> Sequence[RetainedBatch]:
    """Batches of the job's live checkpoint that a savepoint can be taken of, oldest first."""
    image = images.image(parts, runs.known(parts, job))
    kept = [one for place in image.queries for one in gather.retained_batches(place)]
    return sorted(kept, key=lambda one: (one.timestamp_ms, one.batch))


def newest_first(parts: Parts, job: str) -> Sequence[Savepoint]:
    with parts.catalog.reading() as reader:
        return savepoint_rows.listed(reader, job)


def get(parts: Parts, named: str) -> Savepoint:
    """By id, by a unique beginning of it, or by its path; raises NotFound, or Invalid for several."""
    with parts.catalog.reading() as reader:
        return savepoint_rows.get(reader, named)


def manifest(parts: Parts, named: str) -> Manifest:
    return library.manifest(parts.library, get(parts, named).id)


def annotate(parts: Parts, named: str, request: AnnotateRequest) -> Savepoint:
    """The savepoint with its label, note and best before as `request` leaves them. One change at a time: each is made of the last."""
    savepoint = get(parts, named)
    with parts.claiming(f"annotation of {savepoint.id}"):
        annotating.annotate(parts.library, savepoint.id, request, parts.now_ms())
        refresh(parts, savepoint.id)
    given = {"label": request.label, "note": request.note, "best before": request.best_before_ms}
    said = ", ".join(name for name, value in given.items() if value is not None)
    events.say(parts, "savepoint.annotated", savepoint.job, savepoint.id, f"{said} of savepoint {savepoint.id} changed")
    return get(parts, savepoint.id)


def dispose(parts: Parts, named: str, *, dry_run: bool) -> DisposePlan:
    savepoint = get(parts, named)
    if dry_run:
        return disposing.plan(parts.library, savepoint.id, parts.now_ms())
    disposed = disposing.dispose(parts.library, savepoint.id, parts.now_ms())
    with parts.catalog.writing() as writer:
        savepoint_rows.forget(writer, savepoint.id)
    readings.forget(parts, savepoint.id)
    events.say(parts, "savepoint.disposed", JobName(savepoint.job), savepoint.id, f"savepoint {savepoint.id} was disposed of")
    return disposed
