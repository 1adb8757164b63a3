"""Resumes: the same job begun again, from its own checkpoint or from one of its savepoints.

The order: (1) a safety savepoint where the resume goes back in time, (2) the new checkpoint, (3) `run.json`, (4) `wanted.json`. A crash
before (4) leaves a run that nobody wants, removed with its checkpoint at the next opening; the job is as it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pipelines.catalog import runs as run_rows
from pipelines.domain.errors import Conflict, Invalid, TidemarkError
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Run, Wanted
from pipelines.domain.requests import ResumeRequest, TakeRequest
from pipelines.domain.savepoints import Manifest, Reason, RestorePlan
from pipelines.domain.versions import Version
from pipelines.workspace import events, restores, runs, savepoints, versions
from pipelines.workspace.parts import Parts


def resume(parts: Parts, job: str, request: ResumeRequest) -> Run | RestorePlan:
    """A new run of a job that is not running; raises Conflict (`job.running`)."""
    name = runs.known(parts, job)
    with parts.holding(name):
        newest = _ended(parts, name)
        change = versions.Change(request.code, None, request.args, request.conf, request.master)
        wanted = versions.changed(versions.get(parts, newest.version), change, parts.now_ms())
        if request.from_savepoint:
            return _from_savepoint(parts, name, wanted, request)
        if request.dry_run:
            raise Invalid("resume.dry_run", "A resume from the job's own checkpoint has no plan to show", "Name a savepoint, or resume.")
        frozen = versions.freeze(parts, wanted)
        return _begin(parts, name, RunId(parts.new_id("r")), frozen, newest.checkpoints, _left_sink_logs(parts, newest), "")


def _ended(parts: Parts, job: JobName) -> Run:
    newest = runs.newest(parts, job)
    if newest is None or newest.state.live or parts.files.wanted(job).stop is not None:
        raise Conflict("job.running", f"Job {job} is running or still stopping", "Stop it first, or wait until it has stopped.")
    return newest


def _left_sink_logs(parts: Parts, newest: Run) -> dict[str, str]:
    """Sink logs that the newest run was to carry, in case it did not get to: the driver leaves alone what it has carried already."""
    spec = parts.files.spec(newest.job, newest.id)
    return {query: folder for query, folder in spec.sink_logs.items() if Path(folder).is_dir()}


def _from_savepoint(parts: Parts, job: JobName, wanted: Version, request: ResumeRequest) -> Run | RestorePlan:
    savepoint = savepoints.get(parts, request.from_savepoint)
    manifest = savepoints.manifest(parts, savepoint.id)
    if manifest.job != job:
        raise Conflict(
            "resume.other_job",
            f"Savepoint {savepoint.id} is of job {manifest.job}, not of {job}",
            "Fork it: two jobs must not share a query id.",
        )
    run = RunId(parts.new_id("r"))
    restoring = restores.of(parts, manifest, job, run, wanted, keep_query_id=True)
    if request.dry_run:
        versions.check_syntax(wanted.script, wanted.code)
        return restoring.plan()
    frozen = versions.freeze(parts, wanted)
    _keep_present(parts, job, manifest)
    checkpoints = parts.layout.checkpoints(job, run)
    try:
        sink_logs = restoring.apply()
        return _begin(parts, job, run, frozen, str(checkpoints), sink_logs, savepoint.id)
    except BaseException:
        if parts.files.wanted(job).run != run:
            discard(parts, job, run)
        raise


def _keep_present(parts: Parts, job: JobName, target: Manifest) -> None:
    """A savepoint of the present point where it is past the target's: what a step back in time would lose."""
    try:
        plan = savepoints.take(parts, job, TakeRequest(dry_run=True))
    except TidemarkError as error:
        events.say(parts, "savepoint.skipped", job, target.id, f"no savepoint before the resume: {error.message}")
        return
    batches: Mapping[str, int] = getattr(plan, "batches", {})
    if any(batches.get(image.query, -1) > image.batch for image in target.queries) and not _is_kept(parts, job, batches):
        savepoints.take(parts, job, TakeRequest(label=f"before the resume from {target.id}"), reason=Reason.BEFORE_RESUME)


def _is_kept(parts: Parts, job: JobName, batches: Mapping[str, int]) -> bool:
    """Whether the newest run's present point is a savepoint already (of its stop)."""
    newest = runs.newest(parts, job)
    return any(
        newest is not None and one.run == newest.id and {image.query: image.batch for image in one.queries} == dict(batches)
        for one in savepoints.newest_first(parts, job)
    )


def _begin(parts: Parts, job: JobName, run: RunId, frozen: Version, checkpoints: str, sink_logs: Mapping[str, str], savepoint: str) -> Run:
    spec = runs.make_spec(parts, job, run, frozen, checkpoints, sink_logs, savepoint)
    runs.write_spec(parts, spec)
    parts.files.write(parts.layout.wanted_file(job), Wanted(run))
    wanted = runs.wanted_run(spec)
    with parts.catalog.writing() as writer:
        run_rows.save(writer, [wanted])
    said = f"from savepoint {savepoint}" if savepoint else "from its checkpoint"
    events.say(parts, "job.resumed", job, run, f"{job} goes on {said}, version {frozen.id}")
    parts.changed.set()
    return wanted


def discard(parts: Parts, job: JobName, run: RunId) -> None:
    """Removes a run that was never wanted, with the checkpoint that it was to begin."""
    for folder in (parts.layout.checkpoints(job, run), parts.layout.run(job, run)):
        if folder.exists():
            shutil.rmtree(folder)
