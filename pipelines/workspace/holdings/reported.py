"""What a source that reports it still holds of what comes after a point: by the last batch of the query that reads it."""

from __future__ import annotations

from pipelines.catalog import operators
from pipelines.domain import reported
from pipelines.domain.holdings import MOST_GAPS, Holding, Usable
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.domain.sources import SourceSeen
from pipelines.words import formats
from pipelines.workspace.context import Context

FRESH_MS = 600_000
"""So long it is believed that all is there; what is gone stays gone."""
Told = tuple[int, tuple[SourceSeen, ...]]


def told(context: Context, query_id: str) -> Told:
    """When a query last told of its sources, and what."""
    with context.catalog.reading() as reader:
        return operators.reported(reader, query_id)


def of_source(image: QueryImage, offset: SourceOffset, name: str, last: Told, now_ms: int) -> Holding | None:
    """What the source `name` holds after `offset`; None where it does not say, or in other numbers than its offsets have."""
    at_ms, sources = last
    at = [other.source for other in image.offsets].index(offset.source)
    latest = sources[at].latest if at < len(sources) and len(sources) == len(image.offsets) else ""
    lacks = reported.lacks(offset.offset, latest)
    if lacks is None:
        return _by_age(image, offset, name, latest, now_ms)
    if lacks:
        words = tuple(f"{name}: {lack.words}" for lack in lacks[:MOST_GAPS])
        gone = sum(lack.count for lack in lacks)
        return Holding(image.query, offset.source, Usable.NO, "; ".join(words), gone=gone, unit="offsets", gaps=words)
    if now_ms - at_ms > FRESH_MS:
        why = f"{name} had all when {image.query} told last, and only a batch of it tells"
        return Holding(image.query, offset.source, Usable.UNKNOWN, why)
    return Holding(image.query, offset.source, Usable.YES, f"{name} has all, as it told with the last batch")


def _by_age(image: QueryImage, offset: SourceOffset, name: str, latest: str, now_ms: int) -> Holding | None:
    """Of a source that says how long it keeps rows: past the time of the last row that was read nobody knows whether one came after it."""
    until_ms, keeps_ms = reported.until_ms(offset.offset, latest), reported.keeps_ms(latest)
    if until_ms is None or keeps_ms is None:
        return None
    if until_ms > now_ms:
        return Holding(image.query, offset.source, Usable.YES, f"{name} has all, by the age of its rows", until_ms, keeps_ms)
    why = f"{name} keeps rows for {formats.duration(keeps_ms)}, and the last one that was read is older"
    return Holding(image.query, offset.source, Usable.UNKNOWN, why, keeps_ms=keeps_ms)
