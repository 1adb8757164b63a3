"""Refuses to go on from a point after which a source has lost rows: said by the plan, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC

from pipelines.domain.errors import Conflict, Refusal, TidemarkError, refusal
from pipelines.domain.holdings import Holding, Usable
from pipelines.domain.ids import JobName
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import QueryImage
from pipelines.verbs.take import Take
from pipelines.words import formats
from pipelines.workspace import kafka_holdings, savepoints, sources
from pipelines.workspace.context import Context

GONE = "source.gone"
HINT = "Take a newer savepoint, or begin the script anew. With failOnDataLoss=false a Kafka source passes over rows that are gone."


def told(context: Context, shown: RestorePlan, images: Iterable[QueryImage], since: str = "the savepoint") -> RestorePlan:
    """The plan of going on from `images`, with what their sources still hold; refused where one lacks rows."""
    held = [holding for image in images if any(image.brokers) for holding in _of_query(context, image)]
    lacking = [f"Query {holding.query} cannot go on, rows after {since} are gone: {holding.why}." for holding in held if holding.gaps]
    refused = shown.refusal or (_refusal(lacking) if lacking else None)
    return replace(shown, refusal=refused, warnings=(*shown.warnings, *(line for holding in held for line in _remarks(holding, since))))


def told_of_present(context: Context, shown: RestorePlan, job: JobName) -> RestorePlan:
    """The plan of going on with the job's own checkpoint."""
    if not any(query.brokers for query in sources.started_before(context, job)):
        return shown
    try:
        present = savepoints.planned_take(context, job, Take(job))
    except TidemarkError as unreadable:
        return replace(shown, warnings=(*shown.warnings, f"What Kafka still holds is not known: {unreadable.message}"))
    return told(context, shown, (query.image for query in present.look.gathered), "its last batch")


def _of_query(context: Context, image: QueryImage) -> Iterator[Holding]:
    for offset in image.offsets:
        holding = kafka_holdings.of_source(context, image, offset)
        if holding is not None:
            yield holding


def _refusal(lacking: list[str]) -> Refusal:
    return refusal(Conflict(GONE, " ".join(lacking), HINT))


def _remarks(holding: Holding, since: str) -> Iterator[str]:
    if holding.usable is Usable.UNKNOWN:
        yield f"Query {holding.query}: whether its source still has all rows after {since} is not known: {holding.why}."
    elif holding.usable is Usable.YES and holding.until_ms is not None:
        yield f"Query {holding.query}: {holding.why} after {since}, at least until {formats.exact(holding.until_ms, UTC)}."
