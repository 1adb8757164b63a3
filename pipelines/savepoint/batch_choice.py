"""Which batch a savepoint is of: decided from what is retained, without touching anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.errors import Conflict, Invalid, NotFound
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.moments import in_utc
from pipelines.domain.savepoints import NOT_BEGUN, RetainedBatch


@dataclass(frozen=True)
class Newest:
    """The newest committed batch of each query."""


@dataclass(frozen=True)
class OfBatch:
    """This batch, of a job with one query."""

    batch: int


@dataclass(frozen=True)
class OfBatches:
    """These batches by query; the newest one of a query that is not named."""

    batches: Mapping[str, int]


@dataclass(frozen=True)
class AtTime:
    """The newest batch of each query that was committed at or before this time (epoch ms)."""

    at_ms: int


@dataclass(frozen=True)
class ByEventTime:
    """The newest batch of each query whose watermark was at or before this event time (epoch ms)."""

    event_ms: int


BatchChoice = Newest | OfBatch | OfBatches | AtTime | ByEventTime


def point(batch: int | Mapping[str, int] | None, at_ms: int | None, event_ms: int | None = None) -> BatchChoice:
    """The batch choice of a request; Invalid where it names more than one point."""
    if sum(value is not None for value in (batch, at_ms, event_ms)) > 1:
        raise Invalid(
            "savepoint.two_points",
            "More than one of a batch, a time and an event time was given",
            "Give one of them, or none for the newest batch.",
        )
    if batch is not None:
        return OfBatches(batch) if isinstance(batch, Mapping) else OfBatch(batch)
    if at_ms is not None:
        return AtTime(at_ms)
    return Newest() if event_ms is None else ByEventTime(event_ms)


def check(job: JobName, choice: BatchChoice, queries: Sequence[QueryName]) -> None:
    """Raises Conflict for a job without a started query, Invalid for a batch number with several queries, since each numbers its own, and
    for the batch of a query that the job does not have."""
    if not queries:
        raise Conflict("savepoint.no_batch", f"{job} has not started a query yet: there is no state to save", "Wait for its first batch.")
    names = ", ".join(queries)
    if isinstance(choice, OfBatch) and len(queries) > 1:
        raise Invalid(
            "savepoint.batch_of_several",
            f"Batch {choice.batch} is ambiguous: the job has {len(queries)} queries ({names}), and each numbers its own batches",
            f"Name the query, once for each: --batch {queries[0]}={choice.batch}. A savepoint also takes --at TIME, which selects a batch "
            "of each; the job goes back to it with resume --from SAVEPOINT.",
        )
    unknown = [query for query in choice.batches if query not in queries] if isinstance(choice, OfBatches) else []
    if unknown:
        raise Invalid("savepoint.unknown_query", f"{job} has no query {unknown[0]!r}: it has {names}", "Name one of them.")


def choose(choice: BatchChoice, retained: Mapping[QueryName, Sequence[RetainedBatch]]) -> Mapping[QueryName, int]:
    """The batch of each query to take, `retained` being oldest first; `NOT_BEGUN` before a query's first commit.

    Raises Conflict (`savepoint.no_batch`) where no query has committed one, NotFound for a batch that is not kept.
    """
    if not any(retained.values()):
        raise _no_batch(list(retained))
    batches = {query: _chosen(query, choice, candidates) for query, candidates in retained.items()}
    if all(batch == NOT_BEGUN for batch in batches.values()):
        query, candidates = next((query, candidates) for query, candidates in retained.items() if candidates)
        raise not_retained(query, _words(choice), candidates)
    return batches


def earlier(query: QueryName, batch: int, choice: BatchChoice, retained: Sequence[RetainedBatch]) -> int:
    """The batch before `batch` of a query that has read what its writer has not committed by its own batch.

    Raises Conflict (`savepoint.ahead`) for a batch that was asked for, NotFound for one that is not kept."""
    if isinstance(choice, OfBatches) and query in choice.batches:
        raise Conflict(
            "savepoint.ahead",
            f"Query {query} has read by batch {batch} what another query of the job wrote after its own batch",
            f"Name an earlier batch of {query}, a later one of the other query, or leave {query} out: its batch is found then.",
        )
    before = [candidate.batch for candidate in retained if candidate.batch < batch]
    if not before and (not retained or retained[0].batch > 0):
        raise not_retained(query, f"a batch before {batch}", retained)
    return before[-1] if before else NOT_BEGUN


def _no_batch(queries: Sequence[QueryName]) -> Conflict:
    which = f"Query {queries[0]} has" if len(queries) == 1 else f"Queries {', '.join(queries)} have"
    message = f"{which} not committed a batch yet: there is no state to save"
    return Conflict("savepoint.no_batch", message, "Wait for the first batch, then take the savepoint.")


def _chosen(query: QueryName, choice: BatchChoice, retained: Sequence[RetainedBatch]) -> int:
    if isinstance(choice, OfBatches) and query in choice.batches:
        return _exactly(query, choice.batches[query], retained)
    if not retained:
        return NOT_BEGUN
    match choice:
        case OfBatch(batch):
            return _exactly(query, batch, retained)
        case AtTime(at_ms):
            return _until(query, at_ms, retained)
        case ByEventTime(event_ms):
            return _below(query, event_ms, retained)
        case Newest() | OfBatches():
            return retained[-1].batch


def _exactly(query: QueryName, batch: int, retained: Sequence[RetainedBatch]) -> int:
    if any(candidate.batch == batch for candidate in retained):
        return batch
    raise not_retained(query, _words(OfBatch(batch)), retained)


def _until(query: QueryName, at_ms: int, retained: Sequence[RetainedBatch]) -> int:
    until = [candidate.batch for candidate in retained if candidate.committed_ms <= at_ms]
    if until:
        return until[-1]
    if retained[0].batch == 0:
        return NOT_BEGUN
    raise not_retained(query, _words(AtTime(at_ms)), retained)


def _below(query: QueryName, event_ms: int, retained: Sequence[RetainedBatch]) -> int:
    if not any(candidate.watermark_ms for candidate in retained):
        raise Invalid(
            "savepoint.no_watermark",
            f"Query {query} has no watermark: its batches cannot be chosen by event time",
            "Give a batch or a time by the clock.",
        )
    below = [candidate.batch for candidate in retained if candidate.watermark_ms <= event_ms]
    if below:
        return below[-1]
    raise not_retained(query, _words(ByEventTime(event_ms)), retained)


def _words(choice: BatchChoice) -> str:
    match choice:
        case OfBatch(batch):
            return f"batch {batch}"
        case AtTime(at_ms):
            return f"a batch committed by {in_utc(at_ms)}"
        case ByEventTime(event_ms):
            return f"a batch with a watermark up to {in_utc(event_ms)}"
        case Newest() | OfBatches():
            return "a batch"


def not_retained(query: QueryName, point: str, retained: Sequence[RetainedBatch]) -> NotFound:
    """The error for a batch that Spark does not keep (any more)."""
    range_text = f"It keeps {retained[0].batch} to {retained[-1].batch}" if retained else "It keeps none"
    return NotFound(
        "savepoint.not_retained",
        f"Query {query} does not keep {point} (any more). {range_text}",
        "Choose a retained batch, or let Spark keep more with spark.sql.streaming.minBatchesToRetain.",
    )
