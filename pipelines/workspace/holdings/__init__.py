"""What a source still holds of what a savepoint's next batches need: each kind of source is asked in its own way, one call for all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pipelines.checkpoint import source_log
from pipelines.domain.errors import Conflict
from pipelines.domain.holdings import HOLDINGS_FORMAT, Holding, Holdings, HoldingsPlan, Usable
from pipelines.domain.ids import JobName, QueryName, SavepointId, folder_of
from pipelines.domain.job_places import is_other_s3
from pipelines.domain.savepoints import Manifest, QueryImage, Savepoint, SourceOffset
from pipelines.domain.unrepeatable_sources import UNREPEATABLE
from pipelines.savepoint import held_files, held_snapshots, held_tables, layout
from pipelines.savepoint import holdings as documents
from pipelines.savepoint.shelves import open_inside
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.holdings import AskHoldings
from pipelines.words import holdings as words
from pipelines.workspace import events, runs, savepoints, sources
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.holdings import kafka, reported

MADE = ("rate", "rate-micro-batch")
NOTHING = "null"
KEPT_MS = 600_000
ABROAD = "its job never ran here, so nobody knows what was read after it"


@dataclass(frozen=True)
class Asking:
    """What one round of questions shares: when it is, which files were looked for, what queries told, by their ids, and the confs of the
    job."""

    now_ms: int
    conf: Mapping[str, str] = field(default_factory=dict)
    seen: held_files.Seen = field(default_factory=held_files.Seen)
    told: dict[str, reported.Told] = field(default_factory=dict)


@plans(AskHoldings)
def plan(context: Context, change: AskHoldings) -> Planned[Savepoint, HoldingsPlan]:
    """Asks the sources of one savepoint, and keeps what they answer."""
    savepoint = savepoints.get(context, change.savepoint)
    asked = sum(len(image.offsets) for image in savepoint.queries)
    return Planned(HoldingsPlan(savepoint.id, asked), lambda _: asked_again(context, savepoint.id, Asking(context.now_ms())))


def asked_again(context: Context, savepoint: SavepointId, asking: Asking) -> Savepoint:
    """Asks, keeps the answer beside the savepoint and in the catalog, and says it where the savepoint has become of no use."""
    context.files.check()  # it also makes tags in tables
    before = savepoints.get(context, savepoint)
    last, holdings = before.holdings, _of_savepoint(context, savepoints.manifest(context, savepoint), asking)
    is_same = last is not None and last.usable is holdings.usable
    if last is not None and is_same and _is_fresh(last, holdings):
        return before
    since_ms = last.since_ms if last is not None and is_same else holdings.at_ms
    documents.write(context.shelf(savepoint), replace(holdings, since_ms=since_ms))
    savepoints.refresh(context, savepoint)
    if holdings.usable is Usable.NO and not is_same:
        message = f"savepoint {savepoint} of {before.job} can no longer be used: {words.why(holdings)}"
        events.say(context, "savepoint.unusable", before.job, savepoint, message)
    return savepoints.get(context, savepoint)


def _is_fresh(last: Holdings, now: Holdings) -> bool:
    """Whether the kept answer, which says the same, need not be written anew: nothing in it counts down, and it is not old."""
    return last.sources == now.sources and now.until_ms is None and now.at_ms - last.at_ms < KEPT_MS


def of_source(
    context: Context, image: QueryImage, offset: SourceOffset, own: Storage, others: Sequence[Storage], asking: Asking
) -> Holding:
    """What one source holds; `own` is the checkpoint in the savepoint, `others` those that its job has gone on with."""
    kind, query = kind_of(image, offset), image.query
    reads_files = offset.offset == NOTHING and any(held_files.entries(other, offset.source) for other in others)
    if reads_files or source_log.offset_of(offset.offset) is not None:
        if not others:
            return Holding(query, offset.source, Usable.UNKNOWN, ABROAD)
        is_elsewhere = partial(is_other_s3, conf=asking.conf, environment=os.environ)
        return held_files.holding(query, offset, own, others, asking.seen, asking.now_ms, is_elsewhere)
    of_kafka = kafka.of_source(context, image, offset)
    if of_kafka is not None:
        return of_kafka
    of_table = held_tables.reading(image, offset, own)
    if of_table is not None:
        return held_tables.holding(of_table, asking.seen)
    if kind in MADE:
        return Holding(query, offset.source, Usable.YES, f"the source {kind} makes its rows anew")
    if kind in UNREPEATABLE:
        return Holding(query, offset.source, Usable.UNKNOWN, UNREPEATABLE[kind])
    last = asking.told.get(image.query_id) or asking.told.setdefault(image.query_id, reported.told(context, image.query_id))
    of_itself = reported.of_source(image, offset, kind or f"source {offset.source}", last, asking.now_ms)
    return of_itself or Holding(
        query, offset.source, Usable.UNKNOWN, f"nobody can ask the source {kind or offset.source} what it still holds"
    )


def kind_of(image: QueryImage, offset: SourceOffset) -> str:
    """Spark's name of the source (`kafka`, `rate`, `json`); empty where nobody noted it."""
    places = [other.source for other in image.offsets]
    return image.sources[places.index(offset.source)] if len(image.sources) == len(places) else ""


def _of_savepoint(context: Context, manifest: Manifest, asking: Asking) -> Holdings:
    asking = replace(asking, conf=manifest.version.conf)
    answers = [
        of_source(
            context, image, offset, checkpoint_in(context, manifest.id, image.query), others_of(context, manifest, image.query), asking
        )
        for image in manifest.begun
        for offset in image.offsets
    ]
    of_sinks = (held_snapshots.holding(context.shelf(manifest.id), manifest.id, image) for image in manifest.queries)
    answers += [holding for holding in of_sinks if holding is not None]
    return Holdings(HOLDINGS_FORMAT, manifest.id, asking.now_ms, tuple(answers))


def checkpoint_in(context: Context, savepoint: SavepointId, query: QueryName) -> Storage:
    """The query's checkpoint in the savepoint."""
    return open_inside(context.shelf(savepoint), layout.inside(savepoint, layout.checkpoint(query)))


def others_of(context: Context, manifest: Manifest, query: QueryName) -> list[Storage]:
    """The query's checkpoints in all runs of the savepoint's job; none where the savepoint comes from elsewhere."""
    ran = runs.of_job(context, manifest.job)
    if manifest.run is None or manifest.run not in [run.id for run in ran]:
        return []
    below = {f"{sources.here(context, manifest.job, run.checkpoints)}/{folder_of(query)}" for run in ran}
    return [open_storage(place) for place in sorted(below | _present(context, manifest.job, query))]


def _present(context: Context, job: JobName, query: QueryName) -> set[str]:
    """Where the query keeps its checkpoint now, which of a job that runs elsewhere may be anywhere; none where none has started."""
    try:
        return {place.checkpoint for place in sources.of_job(context, job).queries if place.query == query}
    except Conflict:
        return set()
