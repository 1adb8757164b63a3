"""Resumes: the same job begun again, from its own checkpoint, a retained batch of it, or one of its savepoints.

The order: (1) a safety savepoint where the resume goes back in time or changes the version, (2) the new checkpoint, (3) `run.json`,
and `probation.json` where it is watched, (4) `wanted.json`. A crash before (4) leaves a run that nobody wants, removed at the next opening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pipelines.domain import errors
from pipelines.domain.edges import Edge
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.probations import Probation
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest, Reason
from pipelines.domain.verdicts import Verdict
from pipelines.savepoint import passing, rescaling, restore, rewind
from pipelines.savepoint.adoptions import Adopting
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.words import formats
from pipelines.workspace import (
    attachments,
    checked,
    home_leases,
    job_places,
    job_resources,
    lockstep,
    migrations,
    pinned_confs,
    probations,
    query_names,
    repairs,
    resumable,
    resumed,
    runs,
    safety,
    savepoints,
    snapshot_versions,
    sources,
    spark_changes,
    versions,
)
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.environments import is_missing
from pipelines.workspace.holdings.gaps import told_of_batches, told_of_present, told_of_savepoint
from pipelines.workspace.resumed import Going
from pipelines.workspace.safety import Safety
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.tickets import Ticket
from pipelines.workspace.verdicts import refusal, stand_in

Go = Callable[[Context, Ticket, Probation | None, Edge | None], Run]
"""Carries a resume out, on probation where that is given, with what is known of its state; the caller holds the job."""


@plans(Resume)
def plan(context: Context, change: Resume) -> Planned[Run, RestorePlan]:
    """Plans a new run of a job that is not running; raises what `planned` does."""
    made = planned(context, change)
    version = made.begins
    return replace(made, do=lambda ticket: checked.begun(context, change, made.plan, version, ticket, made.do))


def restart(context: Context, job: JobName, attempt: int) -> Run:
    """Begins the next run of a job from its checkpoint, as that restart; its code ran already. Raises what resuming it raises."""
    return planned(context, Resume(job, force=True), attempt=attempt).do(Ticket())


def planned(
    context: Context,
    change: Resume,
    *,
    run: RunId | None = None,
    attempt: int = 0,
    is_scheduled: bool = False,
    partitions: int | None = None,
    adopts: Mapping[QueryName, Adopting] | None = None,
    stops: Run | None = None,
    judged: SavepointId | None = None,
    verdict: Verdict | None = None,
) -> Planned[Run, RestorePlan]:
    """Plans the new run, `run` where that has its id already, of a job that is not running: somebody's, its schedule's, or the restart
    number `attempt`; where `partitions` are given, from a savepoint whose state is rescaled; where it `adopts` a variant's, from that's.
    Of a job that runs, as if it had stopped by now, where `stops` is its run, for who stops that and plans again. `judged` is the savepoint
    that stands for the state, where that is chosen already; `verdict` what its code was found to be before the job was stopped for it.

    Raises Conflict (`job.running`, `resume.other_job`), Invalid (two points; a batch number of several queries), NotFound
    (`savepoint.not_retained`, `version.not_run`) and what following, taking and restoring a savepoint raise; what is not forced and known
    not to start is refused by the plan (`code.cannot_start`).
    """
    name = runs.known(context, change.job)
    if sum((change.batch is not None, bool(change.from_savepoint), change.past_batch)) > 1:
        raise Invalid("resume.two_points", "Two of a batch, a savepoint and the batch to leave out were given", "Give one of them.")
    attachments.refuse(context, name, "resumed")
    told = () if attempt else home_leases.told(context, name)  # a restart's driver looks itself, and is begun again
    newest = stops or resumable.ended(context, name)
    base = versions.get(context, resumable.base(context, name, change.version) or newest.version)
    version = versions.changed(base, change, context.now_ms())
    versions.check_here(context, version)
    begins, migrate = run or RunId(context.new_id("r")), migrations.asked(change, change.new_queries)
    taken = job_resources.asked(may_take := repairs.known_job(context, name).resources, change, version)
    begun = (name, newest, begins, version, change.new_queries, attempt, is_scheduled)
    going = Going(*begun, partitions, change.force, migrate, adopts, taken, verdict=verdict)
    shown, go = _way(context, going, change, judged)
    refused = shown.refusal or refusal(shown.verdict, change, is_forced=change.force)
    shown = replace(shown, run=going.run, version=version.id, builds=is_missing(context, version), refusal=refused)
    shown = replace(shown, resources=taken, means=job_resources.means(taken), warnings=(*shown.warnings, *told))
    shown = probations.planned(context, change, newest, shown, may_take)
    return Planned(shown, lambda ticket: _resume(context, going, go, ticket, shown), version)


def _way(context: Context, going: Going, change: Resume, judged: SavepointId | None) -> tuple[RestorePlan, Go]:
    if change.from_savepoint:
        return _from_savepoint(context, going, change.from_savepoint)
    if change.batch is not None:
        return _to_batch(context, going, change.batch)
    if change.past_batch:
        return _past_batch(context, going)
    is_copied = sources.here(context, going.job, going.newest.checkpoints) != going.newest.checkpoints
    is_copied = is_copied or going.migrate is not None or sources.table_of_a_run(context, going.job)
    is_copied = is_copied or snapshot_versions.needs_copy(context, going.newest, going.version)
    shown, go = (_moved if is_copied else _own)(context, going)
    manifest = savepoints.manifest(context, judged) if judged is not None else stand_in(context, going.job)
    return resumed.judged(context, shown, manifest, going), go


def _resume(context: Context, going: Going, go: Go, ticket: Ticket, shown: RestorePlan) -> Run:
    if shown.refusal is not None:
        raise shown.refusal.error
    if not going.attempt:
        home_leases.refuse_foreign(context, going.job, ticket)
    with context.holding(going.job), safety.taken_back(context, going.job):
        if resumable.ended(context, going.job).id != going.newest.id:
            raise Conflict(
                "resume.overtaken", f"Another call started job {going.job} meanwhile", "Show the job; if it does not run, resume it again."
            )
        return go(context, ticket, shown.probation, resumed.edge(context, going, shown))


def _from_savepoint(context: Context, going: Going, savepoint: str) -> tuple[RestorePlan, Go]:
    manifest = savepoints.manifest(context, savepoint)
    if manifest.job != going.job and going.adopts is None:
        raise Conflict(
            "resume.other_job",
            f"Savepoint {manifest.id} is of job {manifest.job}, not of {going.job}",
            "Fork it: two jobs must not share a query id.",
        )
    lockstep.require_ahead(context, going.job, manifest.queries)
    safe, shown = _safety(context, going, manifest), resumed.restoring(context, going, going.version, manifest).plan()
    shown = told_of_savepoint(context, shown, manifest, is_accepted=going.force)

    def go(context: Context, ticket: Ticket, probation: Probation | None, edge: Edge | None) -> Run:
        frozen = versions.freeze(context, going.version, ticket)
        resumed.rehearse(context, going, frozen, manifest, ticket)
        safety.keep(context, safe, ticket)
        return resumed.restored(context, replace(going, probation=probation, edge=edge), frozen, manifest, ticket)

    shown = spark_changes.told_of_savepoint(context, shown, manifest, going.version)
    return replace(resumed.judged(context, resumed.refused(shown, going, manifest.queries), manifest, going), saves=safe.labels), go


def _safety(context: Context, going: Going, manifest: Manifest) -> Safety:
    """The parent of a variant has batches of its own: its newest are saved, however many the variant has."""
    if going.adopts is not None:
        return safety.before_an_upgrade(context, going.newest)
    return safety.before_going_back(context, going.job, {image.query: image.batch for image in manifest.queries}, manifest.id)


def _to_batch(context: Context, going: Going, batch: int | Mapping[str, int]) -> tuple[RestorePlan, Go]:
    """Plans to go back to a retained batch, of each query that is named, through a savepoint of it; refuses before anything is saved."""
    target = Take(going.job, batch=batch, label=f"where {going.job} went back to")
    rewind = savepoints.planned_take(context, going.job, target, Reason.REWIND)
    safe = safety.before_going_back(context, going.job, rewind.plan.batches, formats.batches(batch))
    shown, go = _by_way_of(context, going, rewind, safe)
    return resumed.refused(shown, going, rewind.look.images), go


def _past_batch(context: Context, going: Going) -> tuple[RestorePlan, Go]:
    """Plans to go on after the batch at which it failed, through a savepoint of the one before it."""
    failed = passing.failed_batch(going.job, going.newest.restart)
    asked = Take(going.job, label=f"before batch {failed.batch} was left out")
    take = savepoints.planned_take(context, going.job, asked, Reason.BEFORE_RESUME)
    place = next(query for query in take.source.queries if query.query == failed.query)
    going = replace(going, passing=passing.passing(place, take.look, failed))
    shown, go = _by_way_of(context, going, take, safety.NOTHING)
    error = None if going.force else passing.remembered(place, failed)
    refused = shown.refusal or (errors.refusal(error) if error else None)
    written = going.passing.bytes if going.passing is not None else 0
    return replace(shown, passed=failed, new_bytes=shown.new_bytes + written, refusal=refused), go


def _moved(context: Context, going: Going) -> tuple[RestorePlan, Go]:
    """Plans a restore of a job's own checkpoint where its state or its sink names another place than they will have, or is migrated."""
    label = "before the first start in another place" if going.migrate is None else "before its state was migrated"
    label = "before it went on with another Spark" if snapshot_versions.needs_copy(context, going.newest, going.version) else label
    take = savepoints.planned_take(context, going.job, Take(going.job, label=label), Reason.BEFORE_RESUME)
    shown, go = _by_way_of(context, going, take, safety.NOTHING)
    unfinished = migrations.unfinished(take) if going.migrate is not None and not going.newest.state.live else None
    return replace(shown, refusal=shown.refusal or unfinished), go


def _by_way_of(context: Context, going: Going, take: PlannedTake, safe: Safety) -> tuple[RestorePlan, Go]:
    """Plans to resume from a savepoint that is taken for it."""
    lockstep.require_ahead(context, going.job, take.look.images)
    target = restore.Resume(going.job, job_places.next_checkpoints(context, going.job, going.run))

    def go(context: Context, ticket: Ticket, probation: Probation | None, edge: Edge | None) -> Run:
        frozen = versions.freeze(context, going.version, ticket)
        safety.keep(context, safe, ticket)
        manifest = savepoints.manifest(context, savepoints.publish(context, take, ticket).id)
        resumed.rehearse(context, going, frozen, manifest, ticket)
        return resumed.restored(context, replace(going, probation=probation, edge=edge), frozen, manifest, ticket)

    shown = told_of_batches(context, rewind.plan(take.look, target), going.job, take.look, is_accepted=going.force)
    if going.migrate is not None:
        migrated = migrations.plan(rescaling.of_look(take.look), going.migrate, take.source.spark_version)
        shown = replace(shown, migration=migrated, refusal=shown.refusal or migrated.refusal)
    shown = pinned_confs.told(context, shown, take.look.images, going)
    shown = spark_changes.told(context, shown, take.look.images, take.source.spark_version, going.version)
    return replace(shown, saves=(*safe.labels, take.label)), go


def _own(context: Context, going: Going) -> tuple[RestorePlan, Go]:
    """Plans to resume on the checkpoints that the job has."""
    newest = going.newest
    safe = safety.before_an_upgrade(context, newest) if going.version.id != newest.version else safety.NOTHING
    shown = RestorePlan(SavepointId(""), going.job, True, newest.checkpoints, 0, 0, 0, "as it is", saves=safe.labels)

    def go(context: Context, ticket: Ticket, probation: Probation | None, edge: Edge | None) -> Run:
        started = sources.started_before(context, going.job)
        names = query_names.continued(context, newest, going.version, going.new_queries, started)
        frozen = versions.freeze(context, going.version, ticket)
        kept, manifest = safety.keep(context, safe, ticket), None if going.attempt else stand_in(context, going.job)
        if manifest is not None:
            resumed.rehearse(context, going, frozen, manifest, ticket)
        watched = replace(going, probation=replace(probation, savepoint=kept) if probation else None, edge=edge)
        return resumed.begin(context, watched, frozen, newest.checkpoints, resumed.left_sink_logs(context, newest), "", names)

    if going.attempt:  # it asks nobody: its query finds out by itself
        return shown, go
    lockstep.require_ahead(context, going.job)
    shown = pinned_confs.told_of_present(context, shown, safe, going)
    shown = spark_changes.told_of_present(context, shown, going.job, safe, going.version)
    return told_of_present(context, shown, going.job, is_accepted=going.force), go
