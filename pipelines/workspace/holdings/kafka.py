"""What a Kafka source still holds of what comes after a point: its broker is asked."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.catalog import runs
from pipelines.domain import kafka, kafka_sign_ins
from pipelines.domain.errors import Unavailable, Unsupported
from pipelines.domain.holdings import MOST_GAPS, Holding, Usable
from pipelines.domain.kafka import Offsets, Topic
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.sandbox import secret_values
from pipelines.workspace import broker_worker, sources
from pipelines.workspace.context import Context

AWAY_MS = 15_000
BY_SPARK = "Spark asks it as the job begins, and the job fails where rows are gone"


def of_source(context: Context, image: QueryImage, offset: SourceOffset) -> Holding | None:
    """What the source at `offset` still holds after it; None where it is none of Kafka's, or its broker was not noted."""
    offsets = kafka.offsets_of(offset.offset)
    servers = _servers(image, offset) if offsets else ""
    if offsets is None or not servers:
        return None
    sign_in = _sign_in(context, image, servers)
    if why := _hindrance(servers, sign_in):
        return Holding(image.query, offset.source, Usable.UNKNOWN, f"not asked: {why}; {BY_SPARK}")
    try:
        return _holding(image, offset.source, offsets, _ask(context, servers, sign_in, offsets))
    except Unavailable as away:
        return Holding(image.query, offset.source, Usable.UNKNOWN, away.message)


def topics(context: Context, image: QueryImage, offset: SourceOffset, offsets: Offsets, at_ms: int | None) -> dict[str, Topic]:
    """The topics of a source as its broker has them, with the offsets at a time. Unsupported (`offsets.broker`) where it cannot be asked,
    Unavailable where it does not answer."""
    servers = _servers(image, offset)
    sign_in = _sign_in(context, image, servers)
    if why := _hindrance(servers, sign_in) if servers else "nobody noted its broker":
        message = f"What Kafka holds of source {offset.source} cannot be asked: {why}"
        raise Unsupported("offsets.broker", message, "Give the script startingOffsets, and begin it anew.")
    return broker_worker.ask(context.broker_workers, _hosts(servers), offsets, at_ms, _client(sign_in))


def _ask(context: Context, servers: str, sign_in: Mapping[str, str], offsets: Offsets) -> dict[str, Topic]:
    """A broker that did not answer is not asked again for a while: a page plans with every click."""
    asked, conf = f"{servers} {sorted(sign_in.items())}", _client(sign_in)
    until_ms, away = context.brokers_away.get(asked, (0, None))
    if away is not None and context.now_ms() < until_ms:
        raise away
    try:
        return broker_worker.ask(context.broker_workers, _hosts(servers), offsets, sign_in=conf)
    except Unavailable as error:
        context.brokers_away[asked] = (context.now_ms() + AWAY_MS, error)
        raise


def _sign_in(context: Context, image: QueryImage, servers: str) -> Mapping[str, str]:
    """How a run here signed in to these servers with the query, the newest first. A savepoint does not say it: one that came from elsewhere
    has no secret of this workspace sent anywhere."""
    if not _takes_sign_in(servers):
        return {}
    with context.catalog.reading() as reader:
        ran = runs.of_query(reader, image.query_id)
    for job, run in ran:
        for started in sources.started_queries(context, job, run):
            for noted, sign_in in zip(started.brokers, started.sign_ins, strict=False):
                if started.query_id == image.query_id and noted == servers:
                    return sign_in
    return {}


def _hindrance(servers: str, sign_in: Mapping[str, str]) -> str:
    why = kafka_sign_ins.hindrance(sign_in) if _takes_sign_in(servers) else ""
    return f"{servers} {why}" if why else ""


def _client(sign_in: Mapping[str, str]) -> dict[str, str]:
    return kafka_sign_ins.client(sign_in, secret_values.put_in) if sign_in else {}


def _takes_sign_in(servers: str) -> bool:
    return "://" in servers


def _hosts(servers: str) -> str:
    return servers.rpartition("://")[2]


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
