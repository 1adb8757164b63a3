"""Which batch a savepoint is of: decided from what is retained, without touching anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pipelines.domain.errors import Conflict, Invalid, NotFound
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.savepoints import RetainedBatch


@dataclass(frozen=True)
class Newest:
    """The newest committed batch of each query."""


@dataclass(frozen=True)
class OfBatch:
    """This batch, of a job with one query."""

    batch: int


@dataclass(frozen=True)
class AtTime:
    """The newest batch of each query that was committed at or before this time (epoch ms)."""

    at_ms: int


Point = Newest | OfBatch | AtTime


def point(batch: int | None, at_ms: int | None) -> Point:
    """The point that a request names; Invalid where it names two."""
    if batch is not None and at_ms is not None:
        raise Invalid("savepoint.two_points", "A batch and a time were given", "Give one of the two, or none for the newest batch.")
    if batch is not None:
        return OfBatch(batch)
    return Newest() if at_ms is None else AtTime(at_ms)


def check(job: JobName, wanted: Point, queries: int) -> None:
    """Conflict for a job none of whose queries has started; Invalid where a batch number is meant for several: each numbers its own."""
    if queries == 0:
        raise Conflict("savepoint.no_batch", f"{job} has not started a query yet: there is no state to save", "Wait for its first batch.")
    if isinstance(wanted, OfBatch) and queries > 1:
        raise Invalid(
            "savepoint.batch_of_several",
            f"Batch {wanted.batch} of which query? The job has {queries}, and each numbers its own batches",
            "Give a time instead: it means a batch of each query.",
        )


def choose(query: QueryName, wanted: Point, retained: Sequence[RetainedBatch]) -> int:
    """The batch of `query` to take, `retained` being oldest first; Conflict before the first commit, NotFound for one not kept."""
    if not retained:
        raise Conflict(
            "savepoint.no_batch",
            f"Query {query} has not committed a batch yet: there is no state to save",
            "Wait for its first batch, then take the savepoint.",
        )
    match wanted:
        case OfBatch(batch):
            return _exactly(query, batch, retained)
        case AtTime(at_ms):
            return _until(query, at_ms, retained)
        case Newest():
            return retained[-1].batch


def _exactly(query: QueryName, batch: int, retained: Sequence[RetainedBatch]) -> int:
    if any(one.batch == batch for one in retained):
        return batch
    raise not_retained(query, f"batch {batch}", retained)


def _until(query: QueryName, at_ms: int, retained: Sequence[RetainedBatch]) -> int:
    until = [one.batch for one in retained if one.timestamp_ms <= at_ms]
    if until:
        return until[-1]
    moment = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
    raise not_retained(query, f"a batch committed by {moment}", retained)


def not_retained(query: QueryName, what: str, retained: Sequence[RetainedBatch]) -> NotFound:
    """The error for a batch that Spark does not keep (any more)."""
    kept = f"It keeps {retained[0].batch} to {retained[-1].batch}" if retained else "It keeps none"
    return NotFound(
        "savepoint.not_retained",
        f"Query {query} does not keep {what} (any more). {kept}",
        "Choose a retained batch, or let Spark keep more with spark.sql.streaming.minBatchesToRetain.",
    )
