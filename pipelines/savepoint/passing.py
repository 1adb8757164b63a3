"""Going on past a batch that was planned and never committed: what it would have read counts as read, and the state stays as it is.

Spark plans the next batch from the offsets of the last committed one. In a copy of the checkpoint that entry gets the planned batch's
offsets, and file sources' logs end with its files. The next batch has the number of the one that is passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.checkpoint import closure, offsets
from pipelines.checkpoint.listing import listed
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.restarts import FailedBatch, RestartDecision
from pipelines.savepoint.rescaling import CUT_OR_AGAIN
from pipelines.savepoint.source import QueryLocation
from pipelines.savepoint.take import Look
from pipelines.storage.addresses import open_storage

NO_BATCH = "resume.no_failed_batch"


@dataclass(frozen=True)
class Passing:
    """The batch that a query goes on past, and what its copied checkpoint has instead of the savepoint's files."""

    batch: FailedBatch
    written: Mapping[str, bytes]
    """Path in the query's checkpoint -> content. All that the folder of a source's log had is replaced."""

    @property
    def query(self) -> QueryName:
        return self.batch.query

    @property
    def bytes(self) -> int:
        """Of what is written."""
        return sum(map(len, self.written.values()))


def failed_batch(job: JobName, restart: RestartDecision | None) -> FailedBatch:
    """The batch that the job can go on past; raises Conflict (`resume.no_failed_batch`) where none is known, and for a query's first."""
    failed = restart.batch if restart is not None else None
    if failed is None:
        message = f"It is not known at which batch job {job} failed, if it did"
        raise Conflict(NO_BATCH, message, "Resume it; where it fails again, show the job: it names the batch.")
    if failed.is_first:
        raise _first(failed)
    return failed


def _first(failed: FailedBatch) -> Conflict:
    hint = "Resume the job with changed code, which does this batch again; or mend its input, and resume it."
    return Conflict(NO_BATCH, f"Batch {failed.batch} of query {failed.query} is its first: there is no state to go on with", hint)


def passing(place: QueryLocation, look: Look, failed: FailedBatch) -> Passing:
    """Reads it from the job's own checkpoint, at `place`, whose newest committed batch is that of `look`.

    Raises Conflict (`resume.no_failed_batch`) where that batch does not come next, or none was committed before it; Corrupt.
    """
    image = next(query.image for query in look.gathered if query.image.query == failed.query)
    if not image.begun:
        raise _first(failed)
    storage = open_storage(place.checkpoint)
    try:
        planned = storage.read(offsets.path(failed.batch))
    except NotFound:
        planned = b""
    if failed.batch <= image.batch or not planned:
        message = f"Batch {failed.batch} of query {failed.query} is not waiting any more: its newest committed batch is {image.batch}"
        raise Conflict(NO_BATCH, message, "Resume the job; where it fails, look at which batch.")
    try:
        entry = offsets.with_sources_of(storage.read(offsets.path(image.batch)), planned)
    except ValueError as error:
        message = f"Batches {image.batch} and {failed.batch} of query {failed.query} were planned by different Sparks: {error}"
        raise Conflict(NO_BATCH, message, "Resume the job with changed code that leaves out the rows that it cannot process.") from error
    logs = dict(closure.cut_sources(storage, listed(storage), offsets.parse(failed.batch, planned)))
    return Passing(failed, {offsets.path(image.batch): entry, **logs})


def remembered(place: QueryLocation, failed: FailedBatch) -> Conflict | None:
    """Why a sink may lose what comes next: it knows batches by their numbers, and may have noted the failed one's."""
    if place.sink.lower() in CUT_OR_AGAIN:
        return None
    message = (
        f"The next batch of query {failed.query} has the failed one's number, {failed.batch}, and its sink ({place.sink}) may have noted "
        "that: it would pass over the rows of the next batch without a word"
    )
    return Conflict("resume.sink_remembers", message, "See what the sink has of that batch; where it has nothing, say --force.")
