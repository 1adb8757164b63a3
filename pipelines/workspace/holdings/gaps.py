"""Refuses to go on from a point after which a source has lost rows: said by the plan, before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC

from pipelines.domain import offsets
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Refusal, Unavailable, Unsupported, refusal
from pipelines.domain.holdings import Holding, Usable
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest, QueryImage, SourceOffset
from pipelines.savepoint import contents
from pipelines.savepoint.source import QueryLocation
from pipelines.savepoint.take import Look
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.words import formats
from pipelines.workspace import holdings, runs, savepoints, sources, versions
from pipelines.workspace.context import Context
from pipelines.workspace.holdings import Asking
from pipelines.workspace.holdings import kafka as kafka_holdings

GONE = "source.gone"
HINT = (
    "Take a newer savepoint, or begin the script anew. To go on without those rows: --force; code that reads Kafka or Delta needs "
    "failOnDataLoss=false for it, and a fork that reads Iceberg --offsets SOURCE=earliest, one with a source of its own --offsets "
    "SOURCE=OFFSET, as JSON."
)
SLOW_MS, KEPT_MS = 300, 15_000
"""An answer of files that took longer is kept for a while: a page plans with every click."""
Places = Callable[[QueryName], tuple[Storage, Sequence[Storage]]]
"""Of a query: the checkpoint that it goes on from, and those that know what was read after it."""


def told_of_savepoint(
    context: Context, shown: RestorePlan, manifest: Manifest, *, is_accepted: bool = False, with_files: bool = True
) -> RestorePlan:
    """The plan of going on from a savepoint, with what its sources still hold; refused where one lacks rows, unless that is accepted."""
    return _told(shown, _of_savepoint(context, manifest, with_files=with_files), "the savepoint", is_accepted)


def told_of_batches(context: Context, shown: RestorePlan, job: JobName, look: Look, *, is_accepted: bool) -> RestorePlan:
    """The same for batches of the job's own checkpoint."""
    checkpoints = {place.query: open_storage(place.checkpoint) for place in sources.of_job(context, job).queries}
    images = [_placed(query.image, checkpoints[query.image.query]) for query in look.gathered]
    newest = runs.newest(context, job)
    conf = versions.get(context, newest.version).conf if newest else {}
    held = _held(context, images, lambda query: (checkpoints[query], [checkpoints[query]]), conf)
    return _told(shown, held, "that batch", is_accepted)


def told_of_present(context: Context, shown: RestorePlan, job: JobName, *, is_accepted: bool) -> RestorePlan:
    """The same for the job's own checkpoint as it stands, without files: Spark misses those of a planned batch by itself."""
    return _told(shown, _of_present(context, job), "its last batch", is_accepted)


def _of_savepoint(context: Context, manifest: Manifest, *, with_files: bool) -> Iterator[Holding]:
    """What sources have of what comes after a savepoint: of Kafka what its broker says, of tables what their logs say, of files what
    is gone."""
    images = [_placed(image, holdings.checkpoint_in(context, manifest.id, image.query)) for image in manifest.queries]

    def places(query: QueryName) -> tuple[Storage, Sequence[Storage]]:
        return holdings.checkpoint_in(context, manifest.id, query), holdings.others_of(context, manifest, query)

    return _held(context, images, places, manifest.version.conf, with_files=with_files)


def _of_present(context: Context, job: JobName) -> Iterator[Holding]:
    """After the last batches; after the savepoint that the checkpoint was made from where no query has come up on it yet."""
    if sources.started_before(context, job):
        for place in sources.of_job(context, job).queries:
            yield from _standing(context, place)
        return
    began = sources.restored_from(context, job)
    if began is None:
        return
    try:
        manifest = savepoints.manifest(context, began)
    except NotFound:  # the checkpoint has all that there is to know
        return
    except Unavailable as away:
        for place in sources.of_job(context, job).queries:
            yield Holding(place.query, "", Usable.UNKNOWN, away.message)
        return
    yield from _of_savepoint(context, manifest, with_files=False)


def _told(shown: RestorePlan, asked: Iterable[Holding], since: str, is_accepted: bool) -> RestorePlan:
    """Where the whole folder of files is gone or elsewhere, that is a warning: Spark refuses by itself if it is still what is read."""
    lacking: list[str] = []
    warnings: list[str] = []
    for holding in asked:
        if holding.usable is not Usable.NO:
            warnings += _remarks(holding, since)
        elif is_accepted or not holding.has_folder:
            warnings.append(_lacks(holding, since))
        else:
            lacking.append(_lacks(holding, since))
    return replace(shown, refusal=shown.refusal or (_refusal(lacking) if lacking else None), warnings=(*shown.warnings, *warnings))


def _standing(context: Context, place: QueryLocation) -> Iterator[Holding]:
    if not any((*place.brokers, *place.tables)):
        return
    try:
        image = contents.standing(place)
    except (Corrupt, NotFound, Unsupported) as unreadable:
        yield Holding(place.query, "", Usable.UNKNOWN, unreadable.message)
        return
    yield from _held(context, [image], lambda query: (open_storage(place.checkpoint), ()), {}, with_files=False)


def _placed(image: QueryImage, checkpoint: Storage) -> QueryImage:
    """With where its Kafka sources begin, where it has not begun."""
    return image if image.begun or not any(image.brokers) else replace(image, offsets=contents.starts(checkpoint))


def _held(
    context: Context, images: Iterable[QueryImage], places: Places, conf: Mapping[str, str], *, with_files: bool = True
) -> Iterator[Holding]:
    """What is to be said of the images' sources, of a job with these confs; of files nothing unless `with_files`."""
    asking = Asking(context.now_ms(), conf)
    for image in images:
        for offset in image.offsets:
            holding = _asked(context, image, offset, places, asking, with_files=with_files)
            if holding is not None:
                yield holding


def _asked(
    context: Context, image: QueryImage, offset: SourceOffset, places: Places, asking: Asking, *, with_files: bool
) -> Holding | None:
    """Of Kafka and tables whatever there is to say. Files that are gone, or that nobody here may look for; None for others and for any
    other source."""
    of_kafka = kafka_holdings.of_source(context, image, offset)
    if of_kafka is not None:
        return of_kafka
    of_table = offsets.in_table(offset.offset) is not None
    if not of_table and not (with_files and image.begun):
        return None
    try:
        holding = _looked(context, image, offset, places, asking)
    except Unavailable as unreadable:
        return Holding(image.query, offset.source, Usable.UNKNOWN, unreadable.message)
    return holding if of_table or holding.usable is Usable.NO else None


def _looked(context: Context, image: QueryImage, offset: SourceOffset, places: Places, asking: Asking) -> Holding:
    """What a source has by its files here, kept for a while where that took long; Unavailable where nobody may look."""
    own, others = places(image.query)
    began_ms = context.now_ms()
    until_ms, holding = context.files_held.get((own.url, offset), (0, None))
    if holding is None or until_ms < began_ms:
        holding = holdings.of_source(context, image, offset, own, others, asking)
        looked_ms = context.now_ms()
        for asked in [asked for asked, (until_ms, _) in context.files_held.copy().items() if until_ms < looked_ms]:
            context.files_held.pop(asked, None)
        if looked_ms - began_ms > SLOW_MS:
            context.files_held[own.url, offset] = (looked_ms + KEPT_MS, holding)
    return holding


def _refusal(lacking: Iterable[str]) -> Refusal:
    return refusal(Conflict(GONE, " ".join(lacking), HINT))


def _lacks(holding: Holding, since: str) -> str:
    named = f", such as {holding.gaps[0]}{'' if holding.has_folder else ', with their folder'}" if holding.unit == "files" else ""
    return f"Query {holding.query} cannot have all rows after {since}: {holding.why}{named}."


def _remarks(holding: Holding, since: str) -> Iterator[str]:
    if holding.usable is Usable.UNKNOWN:
        yield f"Query {holding.query}: whether its source still has all rows after {since} is not known: {holding.why}."
    elif holding.usable is Usable.YES and holding.until_ms is not None:
        yield f"Query {holding.query}: {holding.why} after {since}, at least until {formats.exact(holding.until_ms, UTC)}."
    if holding.stops:
        yield f"Query {holding.query}: {holding.stops}."
