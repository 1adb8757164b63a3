"""Repairs: a job that shows signs of life and has lost a document gets another one, of what its other files and the catalog say."""

from __future__ import annotations

from pipelines.catalog import jobs as job_rows
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import ExperimentId, JobName, RunId, SavepointId
from pipelines.domain.job_places import place_of
from pipelines.domain.jobs import Job, Origin, Wanted
from pipelines.domain.processes import PROCESS_FILE
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runs import LOG_FILE, QUERIES_FILE
from pipelines.savepoint import library
from pipelines.workspace import events, life
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable


def repair(context: Context) -> None:
    """Writes what jobs have lost of `wanted.json` and `job.json`, with an event for each. What cannot be made anew is only reported."""
    for job in context.files.job_names():
        if not context.layout.wanted_file(job).exists():
            _repair_wanted(context, job)
        if not context.layout.job_file(job).exists():
            _repair_job(context, job)
        for run in context.files.lost_runs(job):
            message = f"run {run} of {job} has lost its run.json and is not shown; put it back from a copy, or remove its folder"
            events.say(context, "run.lost", job, run, message)


def known_job(context: Context, job: JobName) -> Job:
    """`job.json`, or what it must have said; raises Corrupt where it is damaged."""
    return context.files.job(job) or _in_catalog(context, job) or _from_files(context, job)


def save(context: Context, job: Job) -> None:
    """First the file, then the index; the caller holds the job."""
    context.files.write(context.layout.job_file(job.name), job)
    with context.catalog.writing() as writer:
        job_rows.save(writer, [job])


def _repair_wanted(context: Context, job: JobName) -> None:
    """The newest run is wanted again, as it stands."""
    run = _newest_begun(context, job)
    context.files.write(context.layout.wanted_file(job), Wanted(run))
    message = f"wanted.json of {job} was lost and is made anew; a stop that was asked for is not in it"
    events.say(context, "job.repaired", job, run or "", message)


def _repair_job(context: Context, job: JobName) -> None:
    made = known_job(context, job)
    context.files.write(context.layout.job_file(job), made)
    origin = f"forked from {made.origin.savepoint} of {made.origin.job}" if made.origin else "begun here"
    message = f"job.json of {job} was lost and is made anew: {'watched, runs elsewhere' if made.attached else origin}"
    events.say(context, "job.repaired", job, job, message)


def _newest_begun(context: Context, job: JobName) -> RunId | None:
    """The newest run of `job` that a driver was started for, or that is watched; starting another one is nobody's wish."""
    begun = [spec for spec in _specs(context, job) if life.in_run(context.layout.run(job, spec.run))]
    return begun[-1].run if begun else None


def _specs(context: Context, job: JobName) -> list[RunSpec]:
    """Those that can be read, oldest first."""
    specs = readable(lambda run: context.files.spec(job, run), context.files.run_ids(job), [])
    return sorted(specs, key=lambda spec: spec.created_ms)


def _in_catalog(context: Context, job: JobName) -> Job | None:
    with context.catalog.reading() as reader:
        return job_rows.find(reader, job)


def _from_files(context: Context, job: JobName) -> Job:
    specs = _specs(context, job)
    if not specs:
        return Job(job, context.now_ms())
    savepoint = specs[0].from_savepoint
    origin = _origin(context, job, SavepointId(savepoint)) if savepoint else None
    place = place_of(specs[0].checkpoints, is_marked=bool(specs[0].mark))
    attached = all(_is_watched(context, spec) for spec in specs)
    return Job(job, specs[0].created_ms, origin, attached=attached, lead=specs[0].lead, place=place)


def _origin(context: Context, job: JobName, savepoint: SavepointId) -> Origin | None:
    """The origin of a fork; None where its savepoint is gone, which alone says of what job it was."""
    try:
        home = context.files.home(savepoint)
        parent = home.job if home is not None else library.manifest(context.library, savepoint).job
    except TidemarkError:
        return None
    return Origin(savepoint, parent, _experiment(context, job))


def _experiment(context: Context, job: JobName) -> ExperimentId | None:
    experiments = readable(context.files.experiment, context.files.experiment_ids(), [])
    return next((experiment.id for experiment in experiments if job in experiment.jobs), None)


def _is_watched(context: Context, spec: RunSpec) -> bool:
    """Whether its queries were written by who attached it, and no driver was ever started."""
    folder = context.layout.run(spec.job, spec.run)
    return (folder / QUERIES_FILE).exists() and not any((folder / name).exists() for name in (LOG_FILE, PROCESS_FILE))
