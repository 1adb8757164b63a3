"""Points whose state can be read: a savepoint, or a batch of a job, of which a savepoint is taken for the time of the reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.homes import WORKSPACE
from pipelines.domain.ids import JobName, SavepointId, content_id
from pipelines.domain.savepoints import Manifest, Reason
from pipelines.domain.state_differences import StateAt
from pipelines.savepoint import library
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.take import Take
from pipelines.workspace import runs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.tickets import Ticket

BATCH = "@"
"""Between a job and its batch."""
PREFIX = "bt"
"""How the ids of batches begin under which their readings are kept."""


@dataclass(frozen=True)
class StatePoint:
    """A point as it was named; `batch` is None for a job's newest one, and may be that of one query. `savepoint` is None for a job's
    batch."""

    named: str
    job: JobName
    savepoint: SavepointId | None
    batch: int | Mapping[str, int] | None = None


@dataclass(frozen=True)
class Held:
    """A point whose files hold still: its manifest, the storage that has it, and the id under which its readings are kept."""

    shelf: Storage
    manifest: Manifest
    key: SavepointId

    def at(self, named: str) -> StateAt:
        manifest = self.manifest
        batches = {image.query: image.batch for image in manifest.queries}
        return StateAt(named, manifest.job, self.key, batches, manifest.queries[0].batch_timestamp_ms)


def find(context: Context, named: str) -> StatePoint:
    """The point of that name. Raises NotFound (`point.not_found`), Invalid (`point.batch`) for what is no number of a batch."""
    job, at, batch = named.partition(BATCH)
    of_batch = _batch(batch) if at else None
    try:
        return StatePoint(named, runs.known(context, job), None, of_batch)
    except NotFound:
        if at:
            raise
    try:
        savepoint = savepoints.get(context, named)
    except NotFound as error:
        message = f"There is no savepoint or job {named!r}"
        raise NotFound("point.not_found", message, "Name a savepoint, a job, or JOB@N for a batch that Spark still keeps.") from error
    return StatePoint(named, savepoint.job, savepoint.id)


def _batch(text: str) -> int | Mapping[str, int]:
    """`7`, or `counts=7` of a job with several queries."""
    query, _, number = text.rpartition("=")
    if not (number.isdecimal() and len(number) < 16):
        hint = "Write JOB@N with the number of a batch: clicks@7; JOB@QUERY=N of a job with several queries."
        raise Invalid("point.batch", f"{text!r} is no batch", hint)
    return {query: int(number)} if query else int(number)


def planned(context: Context, point: StatePoint) -> PlannedTake:
    """The savepoint that would be taken of a job's batch; raises what taking one raises."""
    return savepoints.planned_take(context, point.job, _take(point), Reason.MANUAL)


def held(context: Context, point: StatePoint, folder: Path, ticket: Ticket) -> Held:
    """The point's files. A job's batch is taken into `folder`, which must not exist and is the caller's to remove."""
    if point.savepoint is not None:
        return Held(context.shelf(point.savepoint), savepoints.manifest(context, point.savepoint), point.savepoint)
    return taken(context, _take(point), folder, ticket)


def taken(context: Context, take: Take, folder: Path, ticket: Ticket) -> Held:
    """A savepoint that is taken into `folder`, which must not exist and is the caller's to remove: no list shows it."""
    folder.mkdir(parents=True)
    shelf = open_storage(str(folder))
    plan = savepoints.planned_take(context, JobName(take.job), take, Reason.MANUAL, shelf)
    manifest = library.manifest(shelf, savepoints.take_into(context, shelf, plan, ticket).id)
    return Held(shelf, manifest, _key(plan, manifest))


def _take(point: StatePoint) -> Take:
    return Take(point.job, batch=point.batch, home=WORKSPACE)


def _key(take: PlannedTake, manifest: Manifest) -> SavepointId:
    """The same for every reading of the same batches: a committed batch of a checkpoint never changes."""
    places = {place.query: place.checkpoint for place in take.source.queries}
    batches = {image.query: [image.query_id, image.batch, places[image.query]] for image in manifest.queries}
    return SavepointId(content_id(PREFIX, {"job": manifest.job, "batches": batches}))
