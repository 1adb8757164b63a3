"""Resumes: the same job begun again, from its own checkpoint, a retained batch of it, or one of its savepoints.

The order: (1) a safety savepoint where the resume goes back in time or changes the version, (2) the new checkpoint, (3) `run.json`,
(4) `wanted.json`. A crash before (4) leaves a run that nobody wants, removed with its checkpoint at the next opening; the job is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.domain.errors import Conflict, Invalid, NotFound, Refusal
from pipelines.domain.ids import JobName, RunId, SavepointId
from pipelines.domain.jobs import Run, Wanted
from pipelines.domain.operations import OperationState
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest, Reason
from pipelines.domain.versions import Version
from pipelines.savepoint import restore, rewind
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.workspace import attachments, events, operations, query_names, restores, runs, safety, savepoints, sources, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.environments import is_missing
from pipelines.workspace.query_names import QueryNames
from pipelines.workspace.safety import Safety
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.source_gaps import told_of_batches, told_of_present, told_of_savepoint
from pipelines.workspace.tickets import Ticket
from pipelines.workspace.verdicts import known, refusal, stand_in


@dataclass(frozen=True)
class Going:
    """A job to resume: its newest run, the run that begins, and the version that it executes."""

    job: JobName
    newest: Run
    run: RunId
    version: Version
    new_queries: tuple[str, ...]
    attempt: int = 0
    partitions: int | None = None
    """Of the state, where a savepoint's copy is to be rescaled."""
    force: bool = False


Go = Callable[[Context, Ticket], Run]
"""Carries a resume out; the caller holds the job."""


@plans(Resume)
def plan(context: Context, change: Resume) -> Planned[Run, RestorePlan]:
    """Plans a new run of a job that is not running; raises what `planned` does."""
    return planned(context, change)


def restart(context: Context, job: JobName, attempt: int) -> Run:
    """Begins the next run of a job from its checkpoint, as the restart of that number, whatever is known of its code, which ran already.
    Raises what resuming it raises."""
    return planned(context, Resume(job, force=True), attempt=attempt).do(Ticket())


def planned(
    context: Context, change: Resume, *, run: RunId | None = None, attempt: int = 0, partitions: int | None = None
) -> Planned[Run, RestorePlan]:
    """Plans the new run, `run` where that has its id already, of a job that is not running: somebody's, or the restart number `attempt`;
    where `partitions` are given, from a savepoint whose state is rescaled.

    Raises Conflict (`job.running`, `resume.other_job`), Invalid (two points; a batch number of several queries), NotFound
    (`savepoint.not_retained`, `version.not_run`) and what taking and restoring a savepoint raise; what is not forced and known not to start
    is refused by the plan (`code.cannot_start`).
    """
    name = runs.known(context, change.job)
    if change.batch is not None and change.from_savepoint:
        raise Invalid("resume.two_points", "A batch and a savepoint were given", "Give one of them.")
    attachments.refuse(context, name, "resumed")
    newest = _ended(context, name)
    version = versions.changed(versions.get(context, _base(context, name, change.version) or newest.version), change, context.now_ms())
    versions.check_here(context, version)
    going = Going(name, newest, run or RunId(context.new_id("r")), version, change.new_queries, attempt, partitions, change.force)
    shown, go = _way(context, going, change)
    refused = shown.refusal or (None if change.force else refusal(shown.verdict))
    shown = replace(shown, run=going.run, version=version.id, builds=is_missing(context, version), refusal=refused)
    return Planned(shown, lambda ticket: _resume(context, going, go, ticket, refused))


def _base(context: Context, job: JobName, version: str) -> str:
    """`version`, which the job has run; NotFound (`version.not_run`) where it has not."""
    ran = {run.version for run in runs.of_job(context, job)}
    if version and version not in ran:
        hint = f"It ran {', '.join(sorted(ran))}. Another job's code is taken over with --code."
        raise NotFound("version.not_run", f"{job} never ran version {version}", hint)
    return version


def _way(context: Context, going: Going, change: Resume) -> tuple[RestorePlan, Go]:
    if change.from_savepoint:
        return _from_savepoint(context, going, change.from_savepoint)
    if change.batch is not None:
        return _to_batch(context, going, change.batch)
    moved = sources.here(context, going.job, going.newest.checkpoints) != going.newest.checkpoints
    shown, go = (_moved if moved or sources.table_of_a_run(context, going.job) else _own)(context, going)
    return _judged(context, shown, stand_in(context, going.job), going), go


def _resume(context: Context, going: Going, go: Go, ticket: Ticket, refused: Refusal | None) -> Run:
    if refused is not None:
        raise refused.error
    with context.holding(going.job), safety.taken_back(context, going.job):
        if _ended(context, going.job).id != going.newest.id:
            raise Conflict(
                "resume.overtaken", f"Another call started job {going.job} meanwhile", "Show the job; if it does not run, resume it again."
            )
        return go(context, ticket)


def _ended(context: Context, job: JobName) -> Run:
    newest = runs.newest(context, job)
    if newest is None or newest.state.live or _is_stopping(context, job):
        raise Conflict("job.running", f"Job {job} is running or still stopping", "Stop it first, or wait until it has stopped.")
    return newest


def _is_stopping(context: Context, job: JobName) -> bool:
    """Whether the operation of its stop is still running; `wanted.json` holds the stop a moment longer."""
    stop = context.files.wanted(job).stop
    if stop is None:
        return False
    with suppress(NotFound):  # the catalog was rebuilt meanwhile
        return operations.get(context, stop.operation).state is OperationState.RUNNING
    return True


def _from_savepoint(context: Context, going: Going, savepoint: str) -> tuple[RestorePlan, Go]:
    manifest = savepoints.manifest(context, savepoint)
    if manifest.job != going.job:
        raise Conflict(
            "resume.other_job",
            f"Savepoint {manifest.id} is of job {manifest.job}, not of {going.job}",
            "Fork it: two jobs must not share a query id.",
        )
    safe = safety.before_going_back(context, going.job, {image.query: image.batch for image in manifest.queries}, manifest.id)
    shown = restores.of_resume(context, manifest, going.job, going.run, going.version, going.partitions).plan()
    shown = told_of_savepoint(context, shown, manifest, is_accepted=going.force)

    def go(context: Context, ticket: Ticket) -> Run:
        frozen = versions.freeze(context, going.version, ticket)
        safety.keep(context, safe, ticket)
        return _restored(context, going, frozen, manifest, ticket)

    return replace(_judged(context, shown, manifest, going), saves=safe.labels), go


def _judged(context: Context, shown: RestorePlan, manifest: Manifest | None, going: Going) -> RestorePlan:
    """The plan with what is known of the version on the state of `manifest`."""
    if manifest is None:
        return shown
    return replace(shown, verdict=known(context, manifest, going.version, going.new_queries), judged=manifest.id)


def _to_batch(context: Context, going: Going, batch: int) -> tuple[RestorePlan, Go]:
    """Plans to go back to a retained batch through a savepoint of it; refuses before anything is saved."""
    target = Take(going.job, batch=batch, label=f"where {going.job} went back to")
    rewind = savepoints.planned_take(context, going.job, target, Reason.REWIND)
    safe = safety.before_going_back(context, going.job, rewind.plan.batches, f"batch {batch}")
    return _by_way_of(context, going, rewind, safe)


def _moved(context: Context, going: Going) -> tuple[RestorePlan, Go]:
    """Plans a restore of a job's own checkpoint where its state or its sink names another place than they will have."""
    present = Take(going.job, label="before the first start in another place")
    return _by_way_of(context, going, savepoints.planned_take(context, going.job, present, Reason.BEFORE_RESUME), safety.NOTHING)


def _by_way_of(context: Context, going: Going, take: PlannedTake, safe: Safety) -> tuple[RestorePlan, Go]:
    """Plans to resume from a savepoint that is taken for it."""
    target = restore.Resume(going.job, str(context.layout.checkpoints(going.job, going.run)))

    def go(context: Context, ticket: Ticket) -> Run:
        frozen = versions.freeze(context, going.version, ticket)
        safety.keep(context, safe, ticket)
        savepoint = savepoints.publish(context, take, ticket)
        return _restored(context, going, frozen, savepoints.manifest(context, savepoint.id), ticket)

    shown = told_of_batches(context, rewind.plan(take.look, target), going.job, take.look, is_accepted=going.force)
    return replace(shown, saves=(*safe.labels, take.label)), go


def _own(context: Context, going: Going) -> tuple[RestorePlan, Go]:
    """Plans to resume on the checkpoints that the job has."""
    newest = going.newest
    safe = safety.before_an_upgrade(context, newest) if going.version.id != newest.version else safety.NOTHING
    shown = RestorePlan(SavepointId(""), going.job, True, newest.checkpoints, 0, 0, 0, "as it is", saves=safe.labels)

    def go(context: Context, ticket: Ticket) -> Run:
        started = sources.started_before(context, going.job)
        names = query_names.continued(context, newest, going.version, going.new_queries, started)
        frozen = versions.freeze(context, going.version, ticket)
        safety.keep(context, safe, ticket)
        return _begin(context, going, frozen, newest.checkpoints, _left_sink_logs(context, newest), "", names)

    # A restart asks nobody: its query finds out by itself.
    return shown if going.attempt else told_of_present(context, shown, going.job, is_accepted=going.force), go


def _left_sink_logs(context: Context, newest: Run) -> dict[str, str]:
    """Sink logs that the newest run may not have carried yet; the driver leaves alone those that it has."""
    spec = context.files.spec(newest.job, newest.id)
    return {query: folder for query, folder in spec.sink_logs.items() if Path(folder).is_dir()}


def _restored(context: Context, going: Going, frozen: Version, manifest: Manifest, ticket: Ticket) -> Run:
    """The job's next run, on new checkpoints that hold what `manifest`'s savepoint has."""
    checkpoints = context.layout.checkpoints(going.job, going.run)
    try:
        sink_logs = restores.of_resume(context, manifest, going.job, going.run, frozen, going.partitions).apply(ticket)
        names = query_names.restored(manifest, going.new_queries)
        return _begin(context, going, frozen, str(checkpoints), sink_logs, manifest.id, names)
    except BaseException:
        if context.files.wanted(going.job).run != going.run:
            runs.discard(context, going.job, going.run)
        raise


def _begin(
    context: Context,
    going: Going,
    frozen: Version,
    checkpoints: str,
    sink_logs: Mapping[str, str],
    savepoint: str,
    names: QueryNames,
) -> Run:
    job, run = going.job, going.run
    spec = runs.make_spec(context, job, run, frozen, checkpoints, sink_logs, savepoint, names)
    listed = context.files.job(job)
    taken_topics = context.files.spec(job, going.newest.id).taken_topics
    spec = replace(spec, attempt=going.attempt, lead=listed.lead if listed else None, taken_topics=taken_topics)
    runs.write_spec(context, spec)
    context.files.write(context.layout.wanted_file(job), Wanted(run))
    begun = runs.follow(context, going.newest.id, runs.wanted_run(spec))
    origin = f"from savepoint {savepoint}" if savepoint else "from its checkpoint"
    kind, what = ("restart.begun", f"restart {going.attempt}") if going.attempt else ("job.resumed", f"version {frozen.id}")
    events.say(context, kind, job, run, f"{job} goes on {origin}, {what}")
    context.changed.set()
    return begun
