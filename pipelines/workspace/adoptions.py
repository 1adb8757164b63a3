"""A parent that goes on with its variant's state and tables: the savepoint that is taken of the variant, and what becomes of which
query, decided before anything stops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pipelines.checkpoint import metadata
from pipelines.domain import iceberg
from pipelines.domain.errors import Conflict, NotFound, refusal
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.placeholders import OUTPUT
from pipelines.domain.restores import RestorePlan
from pipelines.domain.run_specs import ANY_TABLE
from pipelines.domain.savepoints import Manifest, Reason
from pipelines.savepoint import adoptions, iceberg_tables, own_tables, rewind, sink_places, sinks
from pipelines.savepoint.adoptions import Adopting
from pipelines.savepoint.source import QueryLocation
from pipelines.storage.addresses import open_storage
from pipelines.verbs.take import Take
from pipelines.workspace import savepoints, sources
from pipelines.workspace.context import Context
from pipelines.workspace.decisions import Variant
from pipelines.workspace.savepoints import PlannedTake

NAMED = "the variant's arguments name another folder, in which its parent would write, too"


@dataclass(frozen=True)
class Adoption:
    """What is saved of the variant, and each query of the parent."""

    take: PlannedTake
    queries: Mapping[QueryName, Adopting]

    def plan(self, job: JobName, checkpoints: str) -> RestorePlan:
        """The plan of the run that `job` begins with it."""
        begun = [adoptions.sink_of(query.image, self.queries[query.image.query]) for query in self.take.look.gathered]
        error = sinks.refusal(sink.decision for sink in begun)
        plan = rewind.plan_of(self.take.look, job, checkpoints, tuple(sink.decision.plan for sink in begun))
        return replace(plan, refusal=refusal(error) if error else None)


def planned(context: Context, variant: Variant) -> Adoption:
    """Raises Conflict (`promote.queries`) where the two have other queries, and what planning a savepoint of the variant raises."""
    label = f"with which {variant.parent} goes on"
    take = savepoints.planned_take(context, variant.job, Take(variant.job, label=label), Reason.REWIND)
    parent = {QueryName(place.query): place for place in sources.of_job(context, variant.parent).queries}
    theirs = {image.query for image in take.look.images}
    if theirs != parent.keys():
        message = f"{variant.job} has queries {_names(theirs)}, {variant.parent} has {_names(parent)}: their state cannot be exchanged"
        raise Conflict("promote.queries", message, sinks.OTHERWISE)
    parted = _parted(context, variant)
    hindered = dict.fromkeys(_named(context, variant), NAMED)
    hindered |= {image.query: own_tables.AS_READ for image in take.look.images if own_tables.reader(take.look.images, image)}
    return Adoption(take, {query: _adopting(place, parted.get(query), hindered.get(query, "")) for query, place in parent.items()})


def _adopting(place: QueryLocation, since: int | None, hindrance: str) -> Adopting:
    query_id = metadata.read(open_storage(place.checkpoint)).query_id
    if home := iceberg_tables.folder(place.sink, place.sink_path):
        return Adopting(query_id, home, since, branch=iceberg.split(place.sink_table)[1])
    folder = sink_places.delta_folder(place.sink, place.sink_path, place.sink_table)
    return Adopting(query_id, folder, since, hindrance)


def _parted(context: Context, variant: Variant) -> Mapping[QueryName, int]:
    """The version or snapshot of each table of the parent's at which the variant began; none where that savepoint was disposed of."""
    try:
        manifest: Manifest = savepoints.manifest(context, variant.origin.savepoint)
    except NotFound:
        return {}
    noted = ((image.query, image.snapshot.snapshot) for image in manifest.queries if image.snapshot is not None)
    snapshots = {query: snapshot for query, snapshot in noted if snapshot is not None}
    return snapshots | {image.query: image.table.version for image in manifest.queries if image.table is not None}


def _named(context: Context, variant: Variant) -> set[str]:
    """The queries whose own table the variant's arguments name, by a folder that stays the same for whoever runs its code."""
    own = context.files.spec(variant.job, variant.run.id).own_tables
    is_moved = any(OUTPUT in word for word in variant.version.args)
    return set() if is_moved else {query for query, folder in own.items() if folder != ANY_TABLE}


def _names(queries: Iterable[str]) -> str:
    return ", ".join(sorted(queries)) or "none"
