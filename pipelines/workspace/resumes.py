"""Resumes: the same job begun again, from its own checkpoint, a retained batch of it, or one of its savepoints.

The order: (1) a safety savepoint where the resume goes back in time or changes the version, (2) the new checkpoint, (3) `run.json`,
(4) `wanted.json`. A crash before (4) leaves a run that nobody wants, removed with its checkpoint at the next opening; the job is as it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from pipelines.catalog import runs as run_rows
from pipelines.domain.errors import Conflict, Invalid, TidemarkError
from pipelines.domain.ids import JobName, RunId, SavepointId, VersionId
from pipelines.domain.jobs import Run, Wanted
from pipelines.domain.requests import ResumeRequest, TakeRequest
from pipelines.domain.savepoints import Manifest, Reason, RestorePlan, Savepoint, TakePlan
from pipelines.domain.versions import Version
from pipelines.savepoint import batch_choice, restore, rewinding
from pipelines.workspace import attachments, events, query_names, restores, runs, savepoints, sources, versions
from pipelines.workspace.context import Context
from pipelines.workspace.operations import Cancelled
from pipelines.workspace.query_names import QueryNames

ON_THE_WAY = {Reason.BEFORE_RESUME, Reason.BEFORE_UPGRADE, Reason.REWIND}
"""Why a resume takes savepoints."""


def resume(context: Context, job: str, request: ResumeRequest) -> Run | RestorePlan:
    """A new run of a job that is not running.

    Raises Conflict (`job.running`, `resume.other_job`), Invalid (two points; a batch number of several queries), NotFound
    (`savepoint.not_retained`) and what taking and restoring a savepoint raise.
    """
    name = runs.known(context, job)
    if request.batch is not None and request.from_savepoint:
        raise Invalid("resume.two_points", "A batch and a savepoint were given", "Give one of them.")
    attachments.refuse(context, name, "resumed")
    held = nullcontext() if request.dry_run else context.holding(name)
    with held, _taken_back(context, name):
        newest = _ended(context, name)
        change = versions.Change(request.code, request.script, request.args, request.conf, request.master, request.python)
        wanted = versions.changed(versions.get(context, newest.version), change, context.now_ms())
        if request.from_savepoint:
            return _from_savepoint(context, name, wanted, request)
        if request.batch is not None:
            return _to_batch(context, name, wanted, request.batch, request)
        if request.dry_run:
            raise Invalid("resume.dry_run", "A resume from the job's own checkpoint has no plan to show", "Name a savepoint, or resume.")
        if sources.here(context, name, newest.checkpoints) != newest.checkpoints:
            return _moved(context, name, wanted, request)
        names = query_names.continued(context, newest, wanted, request.new_queries)
        frozen = versions.freeze(context, wanted)
        if frozen.id != newest.version:
            _keep_last(context, name, newest.version)
        return _begin(context, name, RunId(context.new_id("r")), frozen, newest.checkpoints, _left_sink_logs(context, newest), "", names)


@contextmanager
def _taken_back(context: Context, job: JobName) -> Iterator[None]:
    """Where a resume is cancelled, what it saved on its way goes again; nobody else saves for its reasons while the job is held."""
    before = {one.id for one in savepoints.newest_first(context, job)}
    try:
        yield
    except Cancelled:
        for one in savepoints.newest_first(context, job):
            if one.id not in before and one.reason in ON_THE_WAY:
                with suppress(Conflict):  # a fork of it is in the making
                    savepoints.dispose(context, one.id, dry_run=False)
        raise


def _ended(context: Context, job: JobName) -> Run:
    newest = runs.newest(context, job)
    if newest is None or newest.state.live or context.files.wanted(job).stop is not None:
        raise Conflict("job.running", f"Job {job} is running or still stopping", "Stop it first, or wait until it has stopped.")
    return newest


def _left_sink_logs(context: Context, newest: Run) -> dict[str, str]:
    """Sink logs that the newest run was to carry, in case it did not get to: the driver leaves alone what it has carried already."""
    spec = context.files.spec(newest.job, newest.id)
    return {query: folder for query, folder in spec.sink_logs.items() if Path(folder).is_dir()}


def _from_savepoint(context: Context, job: JobName, wanted: Version, request: ResumeRequest) -> Run | RestorePlan:
    savepoint = savepoints.get(context, request.from_savepoint)
    manifest = savepoints.manifest(context, savepoint.id)
    if manifest.job != job:
        raise Conflict(
            "resume.other_job",
            f"Savepoint {savepoint.id} is of job {manifest.job}, not of {job}",
            "Fork it: two jobs must not share a query id.",
        )
    if request.dry_run:
        versions.check_syntax(wanted.script, wanted.code)
        return restores.of_resume(context, manifest, job, RunId(context.new_id("r"))).plan()
    frozen = versions.freeze(context, wanted)
    _keep_present(context, job, {image.query: image.batch for image in manifest.queries}, savepoint.id)
    return _restored(context, job, frozen, manifest, request)


def _to_batch(context: Context, job: JobName, wanted: Version, batch: int, request: ResumeRequest) -> Run | RestorePlan:
    """Back to a retained batch of the job's own checkpoint, by way of a savepoint of it; refused before anything is saved."""
    source = sources.of_job(context, job)
    if request.dry_run:
        versions.check_syntax(wanted.script, wanted.code)
        target = restore.Resume(job, str(context.layout.checkpoints(job, RunId(context.new_id("r")))))
        return rewinding.plan(source, batch_choice.OfBatch(batch), target, context.library)
    frozen = versions.freeze(context, wanted)
    planned = savepoints.take(context, job, TakeRequest(batch=batch, dry_run=True))
    _keep_present(context, job, getattr(planned, "batches", {}), f"batch {batch}")
    taken = savepoints.take(context, job, TakeRequest(batch=batch, label=f"where {job} went back to"), reason=Reason.REWIND)
    return _restored(context, job, frozen, savepoints.manifest(context, _id(taken)), request)


def _moved(context: Context, job: JobName, wanted: Version, request: ResumeRequest) -> Run:
    """The workspace is at another place than when the checkpoint was begun: state and sink name the old one, a restore names the new."""
    frozen = versions.freeze(context, wanted)
    taken = savepoints.take(context, job, TakeRequest(label="before the first start in the moved workspace"), reason=Reason.BEFORE_RESUME)
    return _restored(context, job, frozen, savepoints.manifest(context, _id(taken)), request)


def _id(taken: Savepoint | TakePlan) -> SavepointId:
    assert isinstance(taken, Savepoint)
    return taken.id


def _restored(context: Context, job: JobName, frozen: Version, manifest: Manifest, request: ResumeRequest) -> Run:
    """The job's next run, on new checkpoints that hold what `manifest`'s savepoint has."""
    run = RunId(context.new_id("r"))
    checkpoints = context.layout.checkpoints(job, run)
    try:
        sink_logs = restores.of_resume(context, manifest, job, run).apply()
        names = query_names.restored(manifest, request.new_queries)
        return _begin(context, job, run, frozen, str(checkpoints), sink_logs, manifest.id, names)
    except BaseException:
        if context.files.wanted(job).run != run:
            discard(context, job, run)
        raise


def _keep_present(context: Context, job: JobName, target: Mapping[str, int], said: str) -> None:
    """A savepoint of the present point where it is past the target's (query -> batch): what a step back in time would lose."""
    try:
        plan = savepoints.take(context, job, TakeRequest(dry_run=True))
    except TidemarkError as error:
        events.say(context, "savepoint.skipped", job, said, f"no savepoint before the resume: {error.message}")
        return
    batches: Mapping[str, int] = getattr(plan, "batches", {})
    if any(batches.get(query, -1) > batch for query, batch in target.items()) and not _is_kept(context, job, batches):
        savepoints.take(context, job, TakeRequest(label=f"before the resume from {said}"), reason=Reason.BEFORE_RESUME)


def _keep_last(context: Context, job: JobName, version: VersionId) -> None:
    """A savepoint of the last point of the version that an upgrade leaves, unless there is one: the way back from code that fails."""
    try:
        plan = savepoints.take(context, job, TakeRequest(dry_run=True))
    except TidemarkError as error:
        events.say(context, "savepoint.skipped", job, version, f"no savepoint before the upgrade: {error.message}")
        return
    if not _is_kept(context, job, getattr(plan, "batches", {})):
        savepoints.take(context, job, TakeRequest(label=f"the last of version {version}"), reason=Reason.BEFORE_UPGRADE)


def _is_kept(context: Context, job: JobName, batches: Mapping[str, int]) -> bool:
    """Whether the newest run's present point is a savepoint already (of its stop)."""
    newest = runs.newest(context, job)
    return any(
        newest is not None and one.run == newest.id and {image.query: image.batch for image in one.queries} == dict(batches)
        for one in savepoints.newest_first(context, job)
    )


def _begin(
    context: Context,
    job: JobName,
    run: RunId,
    frozen: Version,
    checkpoints: str,
    sink_logs: Mapping[str, str],
    savepoint: str,
    names: QueryNames,
) -> Run:
    spec = runs.make_spec(context, job, run, frozen, checkpoints, sink_logs, savepoint, names)
    runs.write_spec(context, spec)
    context.files.write(context.layout.wanted_file(job), Wanted(run))
    wanted = runs.wanted_run(spec)
    with context.catalog.writing() as writer:
        run_rows.save(writer, [wanted])
    said = f"from savepoint {savepoint}" if savepoint else "from its checkpoint"
    events.say(context, "job.resumed", job, run, f"{job} goes on {said}, version {frozen.id}")
    context.changed.set()
    return wanted


def discard(context: Context, job: JobName, run: RunId) -> None:
    """Removes a run that was never wanted, with the checkpoint that it was to begin."""
    for folder in (context.layout.checkpoints(job, run), context.layout.run(job, run)):
        if folder.exists():
            shutil.rmtree(folder)
