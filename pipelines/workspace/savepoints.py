"""Savepoints: taken of a job as it stands, listed, disposed of. The engine does it; here the catalog and the events follow."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog import savepoints as savepoint_rows
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.requests import AnnotateRequest, TakeRequest
from pipelines.domain.savepoints import DisposePlan, Manifest, Reason, RetainedBatch, Savepoint, TakePlan
from pipelines.savepoint import annotating, batch_choice, contents, library
from pipelines.savepoint import dispose as disposing
from pipelines.savepoint import take as taking
from pipelines.savepoint.batch_choice import BatchChoice
from pipelines.storage.protocol import Storage
from pipelines.storage.watching import Watch
from pipelines.workspace import events, operations, readings, runs, sources
from pipelines.workspace.context import Context


def take(context: Context, job: str, request: TakeRequest, *, reason: Reason = Reason.MANUAL) -> Savepoint | TakePlan:
    """A savepoint of a job, running or not; published when this returns. Raises what `pipelines.savepoint.take` raises."""
    name = runs.known(context, job)
    if request.dry_run:
        return plan(context, context.library, name, request)
    wanted = operations.cancellable(context, "take", name)
    return operations.noticed(context, wanted, lambda ticket: _take(context, name, request, reason, ticket), lambda taken: taken.id)


def _take(context: Context, job: JobName, request: TakeRequest, reason: Reason, watch: Watch) -> Savepoint:
    taken = take_into(context, context.library, job, request, reason, watch)
    record(context, taken)
    context.unsealed.put(taken.id)
    said = f" ({taken.label})" if taken.label else ""
    events.say(context, "savepoint.taken", job, taken.id, f"savepoint {taken.id}{said} of batch {taken.batch} in {taken.took_ms:.0f} ms")
    return taken


def plan(context: Context, shelf: Storage, job: JobName, request: TakeRequest) -> TakePlan:
    """What `take_into` would do."""
    return taking.plan(sources.of_job(context, job), _point(request), shelf)


def take_into(context: Context, shelf: Storage, job: JobName, request: TakeRequest, reason: Reason, watch: Watch) -> Savepoint:
    """The savepoint in any storage of savepoints, unknown to the catalog."""
    source = sources.of_job(context, job)
    naming = taking.Naming(SavepointId(context.new_id("sp")), context.now_ms(), reason, request.label)
    return taking.take(source, _point(request), shelf, naming, watch)


def _point(request: TakeRequest) -> BatchChoice:
    return batch_choice.point(request.batch, request.at_ms, request.event_ms)


def record(context: Context, savepoint: Savepoint) -> None:
    with context.catalog.writing() as writer:
        savepoint_rows.save(writer, [savepoint])


def refresh(context: Context, savepoint: SavepointId) -> None:
    """The catalog has `savepoint` as its files are now; NotFound where it was disposed of meanwhile, and the catalog forgets it then.

    Looked for once more after it was written: a disposal deletes the files before the row, so no row outlives both.
    """
    record(context, library.load(context.library, savepoint))
    try:
        library.manifest(context.library, savepoint)
    except NotFound:
        with context.catalog.writing() as writer:
            savepoint_rows.forget(writer, savepoint)
        raise


def retained(context: Context, job: str) -> Sequence[RetainedBatch]:
    """Batches of the job's live checkpoint that a savepoint can be taken of, oldest first."""
    source = sources.of_job(context, runs.known(context, job))
    kept = [one for place in source.queries for one in contents.retained_batches(place)]
    return sorted(kept, key=lambda one: (one.timestamp_ms, one.batch))


def newest_first(context: Context, job: str) -> Sequence[Savepoint]:
    with context.catalog.reading() as reader:
        return savepoint_rows.listed(reader, job)


def get(context: Context, named: str) -> Savepoint:
    """By id, by a unique beginning of it, or by its path; raises NotFound, or Invalid for several."""
    with context.catalog.reading() as reader:
        return savepoint_rows.get(reader, named)


def manifest(context: Context, named: str) -> Manifest:
    return library.manifest(context.library, get(context, named).id)


def annotate(context: Context, named: str, request: AnnotateRequest) -> Savepoint:
    """The savepoint with its label, note and best before as `request` leaves them. One change at a time: each is made of the last."""
    savepoint = get(context, named)
    with context.claiming(f"annotation of {savepoint.id}"):
        annotating.annotate(context.library, savepoint.id, request, context.now_ms())
        refresh(context, savepoint.id)
    given = {"label": request.label, "note": request.note, "best before": request.best_before_ms}
    said = ", ".join(name for name, value in given.items() if value is not None)
    events.say(context, "savepoint.annotated", savepoint.job, savepoint.id, f"{said} of savepoint {savepoint.id} changed")
    return get(context, savepoint.id)


def dispose(context: Context, named: str, *, dry_run: bool) -> DisposePlan:
    savepoint = get(context, named)
    if dry_run:
        return disposing.plan(context.library, savepoint.id, context.now_ms())
    disposed = disposing.dispose(context.library, savepoint.id, context.now_ms())
    with context.catalog.writing() as writer:
        savepoint_rows.forget(writer, savepoint.id)
    readings.forget(context, savepoint.id)
    events.say(context, "savepoint.disposed", JobName(savepoint.job), savepoint.id, f"savepoint {savepoint.id} was disposed of")
    return disposed
