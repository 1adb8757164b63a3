"""Savepoints: taken of a job as it stands, listed, disposed of. The engine does it; here the catalog and the events follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.catalog import savepoints as savepoint_rows
from pipelines.catalog.connection import Reader
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.homes import WORKSPACE
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.savepoints import Manifest, Reason, RetainedBatch, Savepoint, TakePlan
from pipelines.domain.space import Space
from pipelines.domain.watch import Watch
from pipelines.savepoint import batch_choice, contents, iceberg_tags, library
from pipelines.savepoint import dispose as disposing
from pipelines.savepoint import space as measuring
from pipelines.savepoint import take as taking
from pipelines.savepoint.batch_choice import BatchChoice
from pipelines.savepoint.shelves import open_shelf
from pipelines.savepoint.source import JobSource
from pipelines.storage import folders
from pipelines.storage.protocol import Storage
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ShowSavepoint
from pipelines.verbs.system import ShowSpace
from pipelines.verbs.take import Take
from pipelines.words import formats
from pipelines.words import savepoints as words
from pipelines.workspace import cluster_copies, events, homes, job_places, kept_differences, readings, runs, sources, tag_removals, versions
from pipelines.workspace.context import Context, Shelves
from pipelines.workspace.doers import answers

FOR_LATER = (Reason.MANUAL, Reason.STOP, Reason.SCHEDULED)


@dataclass(frozen=True)
class PlannedTake:
    """A savepoint to take: of what, of which batches, and why."""

    source: JobSource
    choice: BatchChoice
    look: taking.Look
    label: str
    reason: Reason
    home: str = ""
    """Where it goes; empty for the workspace."""

    @property
    def plan(self) -> TakePlan:
        return self.look.plan


def planned_take(context: Context, job: JobName, change: Take, reason: Reason = Reason.MANUAL, shelf: Storage | None = None) -> PlannedTake:
    """Plans to take a savepoint into `shelf` (the library if not given); nothing is changed."""
    job_places.refuse_away(context, job)
    source = sources.of_job(context, job)
    choice = batch_choice.point(change.batch, change.at_ms, change.event_ms)
    home = "" if shelf else _home(context, source, change, reason)
    to = cluster_copies.enabled(context, source.version, shelf or (open_shelf(home) if home else context.library))
    look = taking.look(source, choice, to)
    return PlannedTake(source, choice, replace(look, plan=replace(look.plan, home=home)), change.label, reason, home)


def _home(context: Context, source: JobSource, change: Take, reason: Reason) -> str:
    """Where it is kept, empty for the workspace: what is taken for work that follows at once is kept nearby, of a job
    at a home there."""
    job = source.job
    if change.home:
        return "" if change.home == WORKSPACE else homes.checked(context, change.home, untested=change.untested)
    is_for_later = reason in FOR_LATER or job_places.of_job(context, job)
    return homes.of_job(context, job, source.queries[0].checkpoint) if is_for_later else ""


def taken(context: Context, job: JobName, change: Take, reason: Reason, watch: Watch) -> Savepoint:
    """A savepoint that another change takes on its way."""
    return publish(context, planned_take(context, job, change, reason), watch)


def publish(context: Context, planned: PlannedTake, watch: Watch) -> Savepoint:
    """Takes the planned savepoint into the library; listed when this returns."""
    savepoint = _take_at_home(context, planned, watch) if planned.home else take_into(context, context.library, planned, watch)
    record(context, savepoint)
    context.unsealed.put(savepoint.id)
    label = f" ({savepoint.label})" if savepoint.label else ""
    message = f"savepoint {savepoint.id}{label} of {words.points(savepoint)} in {formats.duration(savepoint.took_ms)}"
    events.say(context, "savepoint.taken", savepoint.job, savepoint.id, message)
    for left in iceberg_tags.keep(context.shelf(savepoint.id), savepoint.id, savepoint.queries):
        message = f"the snapshot of savepoint {savepoint.id} in {left.table} has no tag, so its age counts: {left.why}"
        events.say(context, "savepoint.untagged", savepoint.job, savepoint.id, message)
    return savepoint


def _take_at_home(context: Context, planned: PlannedTake, watch: Watch) -> Savepoint:
    """1. note where it will be, for the next opening to look after a crash; 2. take it, published there; 3. it is settled."""
    savepoint = SavepointId(context.new_id("sp"))
    shelf = homes.begin(context, savepoint, planned.source.job, planned.home)  # 1
    try:
        taken = take_into(context, shelf, planned, watch, savepoint)  # 2
    except BaseException as error:
        if not getattr(error, "__notes__", ()):  # else something is left there, for the next opening to remove
            homes.forget(context, savepoint)
        raise
    homes.settle(context, savepoint)  # 3
    return taken


def take_into(context: Context, shelf: Storage, planned: PlannedTake, watch: Watch, savepoint: SavepointId | None = None) -> Savepoint:
    """The savepoint in any storage of savepoints, unknown to the catalog."""
    naming = taking.Naming(savepoint or SavepointId(context.new_id("sp")), context.now_ms(), planned.reason, planned.label)
    to = cluster_copies.enabled(context, planned.source.version, shelf)
    return taking.take(planned.source, planned.choice, to, naming, watch, first=planned.look)


def record(context: Context, savepoint: Savepoint) -> None:
    with context.catalog.writing() as writer:
        savepoint_rows.save(writer, [savepoint])


def refresh(context: Context, savepoint: SavepointId) -> None:
    """The catalog has `savepoint` as its files are now; NotFound where it was disposed of meanwhile, and the catalog forgets it then.

    Looked for once more after it was written: a disposal deletes the files before the row, so no row outlives both.
    """
    record(context, library.load(context.shelf(savepoint), savepoint))
    try:
        library.manifest(context.shelf(savepoint), savepoint)
    except NotFound:
        unlist(context, savepoint)
        raise


def unlist(context: Context, savepoint: SavepointId) -> None:
    """Its files are gone: the catalog forgets it."""
    with context.catalog.writing() as writer:
        savepoint_rows.forget(writer, savepoint)


@answers(ListRetained)
def retained(context: Context, question: ListRetained) -> Sequence[RetainedBatch]:
    """Batches of the job's live checkpoint that a savepoint can be taken of, oldest first."""
    source = sources.of_job(context, runs.known(context, question.job))
    batches = [batch for place in source.queries for batch in contents.retained_batches(place)]
    return sorted(batches, key=lambda batch: (batch.timestamp_ms, batch.batch))


def newest_first(context: Context, job: str) -> Sequence[Savepoint]:
    with context.catalog.reading() as reader:
        return savepoint_rows.listed(reader, job)


def get(context: Context, savepoint: str) -> Savepoint:
    """The savepoint by id, by a unique beginning of it, or by its path. NotFound for none, Invalid for several, Unavailable for one whose
    home did not answer since the catalog was lost, Corrupt or Unsupported for one that no list shows because of its manifest."""
    try:
        with context.catalog.reading() as reader:
            return savepoint_rows.get(reader, savepoint)
    except NotFound:
        homes.refuse_unread(context, savepoint)
        _refuse_unreadable(context, savepoint)
        raise


def _refuse_unreadable(context: Context, named: str) -> None:
    """Raises what is wrong with the manifest of a savepoint that is there, by its whole id or its path, and could not be listed."""
    name = SavepointId(named.rstrip("/").removeprefix(f"{context.library.url}/"))
    if name in folders.children(context.library) or name in context.files.home_ids():
        library.manifest(context.shelf(name), name)


def manifest(context: Context, savepoint: str) -> Manifest:
    known = get(context, savepoint).id
    return library.manifest(context.shelf(known), known)


@answers(ListSavepoints)
def _list(context: Context, question: ListSavepoints) -> Sequence[Savepoint]:
    return newest_first(context, question.job)


@answers(ShowSavepoint)
def _show(context: Context, question: ShowSavepoint) -> Savepoint:
    return get(context, question.savepoint)


@answers(ReadManifest)
def _read_manifest(context: Context, question: ReadManifest) -> Manifest:
    read = manifest(context, question.savepoint)
    return replace(read, version=versions.without_secrets(read.version))


@answers(ShowSpace)
def _space(context: Context, question: ShowSpace) -> Space:
    return space(context, question.job)


def space(context: Context, job: str) -> Space:
    """What the savepoints in the workspace take on disk; of a job's alone, what another job's savepoints hold too counts as held by
    somebody else."""
    elsewhere = set(context.files.home_ids())
    here = [savepoint.id for savepoint in newest_first(context, job) if savepoint.id not in elsewhere]
    return measuring.space(context.library, here)


def _forget(context: Context, savepoint: SavepointId, job: JobName | None) -> None:
    """Removes a savepoint whose files are gone from the catalog, and its readings."""
    with context.catalog.writing() as writer:
        savepoint_rows.forget(writer, savepoint)
    readings.forget(context, savepoint)
    kept_differences.forget(context, savepoint)
    events.say(context, "savepoint.disposed", job, savepoint, f"savepoint {savepoint} was disposed of")


def _listed(reader: Reader, savepoint: SavepointId) -> Savepoint | None:
    """None for one that no list shows, because it is damaged."""
    try:
        return savepoint_rows.get(reader, savepoint)
    except NotFound:
        return None


def dispose(context: Context, savepoint: SavepointId, shelves: Shelves | None = None) -> None:
    """Deletes it, and its tags in Iceberg tables; Conflict (`savepoint.in_use`) while something is made from it. Of one that somebody
    removed from its home the note."""
    context.files.check()
    with context.catalog.reading() as reader:
        listed = _listed(reader, savepoint)  # first: whoever looks for its files meanwhile has the catalog forget it
    removal = tag_removals.begin(context, listed) if listed else None
    if not homes.gone(context, savepoint):
        homes.unsettle(context, savepoint)
        try:
            disposing.dispose((shelves or Shelves(context)).of(savepoint), savepoint, context.now_ms())
        except (Conflict, NotFound):
            homes.settle(context, savepoint)
            raise
    homes.forget(context, savepoint)
    _forget(context, savepoint, listed.job if listed else None)
    if removal is not None:
        tag_removals.finish(context, removal)
