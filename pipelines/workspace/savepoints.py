"""Savepoints: taken of a job as it stands, listed, verified, disposed of. The engine does it; here the catalog and the events follow."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog import savepoints as savepoint_rows
from pipelines.checkpoint import retained as retention
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.requests import TakeRequest
from pipelines.domain.savepoints import (
    DisposePlan,
    Manifest,
    Reason,
    RetainedBatch,
    Savepoint,
    TakePlan,
    Trust,
    Verification,
)
from pipelines.savepoint import choosing, library
from pipelines.savepoint import dispose as disposing
from pipelines.savepoint import take as taking
from pipelines.savepoint import verify as verifying
from pipelines.savepoint.image import QueryPlace
from pipelines.storage.opening import open_storage
from pipelines.workspace import events, images, runs
from pipelines.workspace.parts import Parts


def take(parts: Parts, job: str, request: TakeRequest, *, reason: Reason = Reason.MANUAL) -> Savepoint | TakePlan:
    """A savepoint of a job, running or not; published when this returns. Raises what `pipelines.savepoint.take` raises."""
    name = runs.known(parts, job)
    image = images.image(parts, name)
    wanted = choosing.point(request.batch, request.at_ms)
    if request.dry_run:
        return taking.plan(image, wanted, parts.library)
    naming = taking.Naming(SavepointId(parts.new_id("sp")), parts.now_ms(), reason, request.label)
    taken = taking.take(image, wanted, parts.library, naming)
    record(parts, taken)
    parts.unsealed.put(taken.id)
    said = f" ({taken.label})" if taken.label else ""
    events.say(parts, "savepoint.taken", name, taken.id, f"savepoint {taken.id}{said} of batch {taken.batch} in {taken.took_ms:.0f} ms")
    return taken


def record(parts: Parts, savepoint: Savepoint) -> None:
    with parts.catalog.writing() as writer:
        savepoint_rows.save(writer, [savepoint])


def retained(parts: Parts, job: str) -> Sequence[RetainedBatch]:
    """Batches of the job's live checkpoint that a savepoint can be taken of, oldest first."""
    image = images.image(parts, runs.known(parts, job))
    return sorted((batch for place in image.queries for batch in _retained(place)), key=lambda one: (one.timestamp_ms, one.batch))


def _retained(place: QueryPlace) -> list[RetainedBatch]:
    kept = retention.retained(open_storage(place.checkpoint))
    return [RetainedBatch(place.query, one.batch, one.timestamp_ms, one.watermark_ms) for one in kept]


def newest_first(parts: Parts, job: str) -> Sequence[Savepoint]:
    with parts.catalog.reading() as reader:
        return savepoint_rows.listed(reader, job)


def get(parts: Parts, named: str) -> Savepoint:
    """By id, by a unique beginning of it, or by its path; raises NotFound, or Invalid for several."""
    with parts.catalog.reading() as reader:
        return savepoint_rows.get(reader, named)


def manifest(parts: Parts, named: str) -> Manifest:
    return library.manifest(parts.library, get(parts, named).id)


def verify(parts: Parts, named: str, level: Trust) -> Verification:
    """Checks a savepoint and keeps the outcome in it and in the catalog; damage is in the answer, not raised."""
    savepoint = get(parts, named)
    found = verifying.verify(parts.library, savepoint.id, level, parts.now_ms())
    record(parts, library.load(parts.library, savepoint.id))
    if found.damages:
        worst = found.damages[0]
        message = f"{len(found.damages)} damaged files in {savepoint.id}, the first: {worst.path}: {worst.message}"
        events.say(parts, "savepoint.damaged", savepoint.job, savepoint.id, message)
    return found


def dispose(parts: Parts, named: str, *, dry_run: bool) -> DisposePlan:
    savepoint = get(parts, named)
    if dry_run:
        return disposing.plan(parts.library, savepoint.id, parts.now_ms())
    disposed = disposing.dispose(parts.library, savepoint.id, parts.now_ms())
    with parts.catalog.writing() as writer:
        savepoint_rows.forget(writer, savepoint.id)
    events.say(parts, "savepoint.disposed", JobName(savepoint.job), savepoint.id, f"savepoint {savepoint.id} was disposed of")
    return disposed
