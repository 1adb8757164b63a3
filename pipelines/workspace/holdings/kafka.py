"""What a Kafka source still holds of what comes after a point: its broker is asked."""

from __future__ import annotations

from pipelines.domain import kafka
from pipelines.domain.errors import Unavailable, Unsupported
from pipelines.domain.holdings import MOST_GAPS, Holding, Usable
from pipelines.domain.kafka import Offsets, Topic
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.workspace import broker_worker
from pipelines.workspace.context import Context

AWAY_MS = 15_000


def of_source(context: Context, image: QueryImage, offset: SourceOffset) -> Holding | None:
    """What the source at `offset` still holds after it; None where it is none of Kafka's, or its broker was not noted."""
    offsets = kafka.offsets_of(offset.offset)
    servers = _servers(image, offset) if offsets else ""
    if offsets is None or not servers:
        return None
    if "://" in servers:
        return Holding(image.query, offset.source, Usable.UNKNOWN, f"{servers} takes a sign-in, which Tidemark does not have")
    try:
        return _holding(image, offset.source, offsets, _ask(context, servers, offsets))
    except Unavailable as away:
        return Holding(image.query, offset.source, Usable.UNKNOWN, away.message)


def topics(context: Context, image: QueryImage, offset: SourceOffset, offsets: Offsets, at_ms: int | None) -> dict[str, Topic]:
    """The topics of a source as its broker has them, with the offsets at a time. Unsupported (`offsets.broker`) where it cannot be asked,
    Unavailable where it does not answer."""
    servers = _servers(image, offset)
    if not servers or "://" in servers:
        why = f"{servers} takes a sign-in, which Tidemark does not have" if servers else "nobody noted its broker"
        message = f"What Kafka holds of source {offset.source} cannot be asked: {why}"
        raise Unsupported("offsets.broker", message, "Give the script startingOffsets, and begin it anew.")
    return broker_worker.ask(context.broker_workers, servers, offsets, at_ms)


def _ask(context: Context, servers: str, offsets: Offsets) -> dict[str, Topic]:
    """A broker that did not answer is not asked again for a while: a page plans with every click."""
    until_ms, away = context.brokers_away.get(servers, (0, None))
    if away is not None and context.now_ms() < until_ms:
        raise away
    try:
        return broker_worker.ask(context.broker_workers, servers, offsets)
    except Unavailable as error:
        context.brokers_away[servers] = (context.now_ms() + AWAY_MS, error)
        raise


def _holding(image: QueryImage, source: str, offsets: Offsets, seen: dict[str, Topic]) -> Holding:
    name, gaps = f"Kafka {', '.join(sorted(offsets))}", list(kafka.gaps(offsets, seen))
    limits = sorted({limit for topic in seen.values() for limit in topic.limits})
    keeps_ms = min((topic.retention_ms for topic in seen.values() if topic.retention_ms is not None), default=None)
    until_ms = None if limits else kafka.until_ms(seen)
    why = f"{name} has all, and its rows also go by {' and '.join(limits)}, which tells no time" if limits else f"{name} has all"
    if gaps:
        return Holding(
            query=image.query,
            source=source,
            usable=Usable.NO,
            why="; ".join(gap.words for gap in gaps[:MOST_GAPS]),
            keeps_ms=keeps_ms,
            gone=sum(gap.rows for gap in gaps),
            unit="rows",
            gaps=tuple(gap.words for gap in gaps[:MOST_GAPS]),
        )
    return Holding(image.query, source, Usable.YES, why, until_ms, keeps_ms)


def _servers(image: QueryImage, offset: SourceOffset) -> str:
    """Of the source by its place in the plan; by itself where all Kafka sources of the query have the same."""
    kafkas = {image.brokers[at] for at, source in enumerate(image.sources) if source == kafka.KAFKA and at < len(image.brokers)}
    if len(kafkas) == 1:
        return next(iter(kafkas))
    at = int(offset.source) if offset.source.isdecimal() and len(image.brokers) == len(image.offsets) else len(image.brokers)
    return image.brokers[at] if at < len(image.brokers) else ""
