"""Runs: begins a job, and writes the specifications of its runs.

The order of a beginning, and what a crash after each step leaves: (1) the job's folder, its run's checkpoint and `run.json`: a half
job, removed at the next opening; (2) `job.json`; (3) `wanted.json`, the last: from here the job is listed and the supervisor starts it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipelines.catalog import jobs as job_rows
from pipelines.catalog import runs as run_rows
from pipelines.domain import resources
from pipelines.domain.errors import AlreadyExists, NotFound
from pipelines.domain.ids import JobName, RunId, SavepointId
from pipelines.domain.job_places import is_remote
from pipelines.domain.jobs import Job, Origin, Run, Wanted
from pipelines.domain.lockstep import Lead
from pipelines.domain.resources import ALL, Resources
from pipelines.domain.run_specs import SPEC_FILE, SPEC_FORMAT, RunSpec
from pipelines.domain.runs import RunState
from pipelines.domain.versions import Version
from pipelines.storage import rights
from pipelines.workspace import events, hadoop, job_places, large_files, run_confs, trash
from pipelines.workspace.context import Context
from pipelines.workspace.new_places import HERE, AtHome
from pipelines.workspace.query_names import ANY, QueryNames

Carry = Callable[[], Mapping[str, str]]
"""Makes a run's first checkpoint; answers with the sink logs (query -> directory) that the run has to carry."""


@dataclass(frozen=True)
class Prepared:
    """A job that is whole but for `wanted.json`."""

    job: Job
    run: Run


@dataclass(frozen=True)
class Beginning:
    """A run that is to begin: what its specification has of whoever begins it. What is not said here stands in `RunSpec`."""

    job: JobName
    run: RunId
    version: Version
    names: QueryNames = ANY
    taken: Resources = ALL
    lead: Lead | None = None
    taken_topics: tuple[str, ...] = ()
    own_tables: Mapping[str, str] = field(default_factory=dict)
    attempt: int = 0
    is_scheduled: bool = False
    is_new_fork: bool = False


def prepare(
    context: Context, begins: Beginning, carry: Carry, origin: Origin | None = None, like: Job | None = None, at_home: AtHome = HERE
) -> Prepared:
    """All of a new job but `wanted.json`; AlreadyExists if the name is taken. Leaves nothing behind on an error. It begins with the limits,
    the restart strategy, the schedule (but not that of its runs) and the alert rules of `like`.

    The document of a job at a home is there before anything is written at that home: the next opening finds by it what a crash left.
    """
    name = begins.job
    job_places.mark_home(at_home.place)
    claim(context, name)
    job = Job(name, context.now_ms(), origin, lead=begins.lead, resources=begins.taken, home=at_home.home, place=at_home.place)
    if like is not None:
        job = replace(job, limits=like.limits, restarts=like.restarts, schedule=replace(like.schedule, run_at=None), alerts=like.alerts)
    try:
        if job.place:
            context.files.write(context.layout.job_file(name), job)
        job_places.make(job.place)
        checkpoints = job_places.checkpoints(context, name, begins.run, job.place)
        spec = make_spec(context, begins, checkpoints, carry(), origin.savepoint if origin else "", job.place)
        write_spec(context, spec)
        context.files.write(context.layout.job_file(name), job)
    except BaseException:
        unmake(context, job)
        raise
    return Prepared(job, wanted_run(spec))


def unmake(context: Context, job: Job) -> None:
    """Removes a job that is not wanted yet: first what is at its home, which nothing but its document names."""
    job_places.remove(job.place)
    shutil.rmtree(context.layout.job(job.name))


def publish(context: Context, prepared: Prepared) -> Run:
    """Makes a prepared job one that is listed and started."""
    job, run = prepared.job, prepared.run
    context.files.write(context.layout.wanted_file(job.name), Wanted(run.id))
    with context.catalog.writing() as writer:
        job_rows.save(writer, [job])
        run_rows.save(writer, [run])
    origin = f"forked from {job.origin.savepoint} of {job.origin.job}" if job.origin else "begun"
    events.say(context, "job.forked" if job.origin else "job.begun", job.name, run.id, f"{job.name} was {origin}, version {run.version}")
    context.changed.set()
    return run


def claim(context: Context, name: JobName) -> None:
    """Makes the job's folder, empty, in place of a half job's; the caller holds the job. Raises AlreadyExists (`job.exists`)."""
    free(context, name)
    folder = context.layout.job(name)
    trash.put(context, folder)
    rights.make_passage(folder)


def free(context: Context, name: JobName) -> None:
    """Raises AlreadyExists (`job.exists`) where a job of this name is listed, whatever the case of its letters."""
    existing = {job.casefold(): job for job in context.files.job_names()}.get(name.casefold())
    if existing is not None:
        raise AlreadyExists("job.exists", f"There is a job {existing} already", "Choose another name, or resume or forget that job.")


def make_spec(
    context: Context, begins: Beginning, checkpoints: str, sink_logs: Mapping[str, str], from_savepoint: str, place: str = ""
) -> RunSpec:
    """The specification for the driver of a run, of a job whose folder at a home is `place`; raises what `resources.confs` raises."""
    job, run, frozen = begins.job, begins.run, begins.version
    output, code = job_places.output(context, job, place), context.layout.code(frozen.id)
    places = large_files.places(context, frozen)
    args, conf = run_confs.settings(frozen, job, str(code), hadoop.told(output, frozen.conf), places)
    return RunSpec(
        format=SPEC_FORMAT,
        run=run,
        job=job,
        version=frozen.id,
        script=str(code / frozen.script),
        args=args,
        conf=resources.confs(begins.taken, run_confs.directed(context.layout, frozen, job, run, conf)),
        master=frozen.master,
        checkpoints=checkpoints,
        output=output,
        mark=job_places.mark(place),
        sink_logs=dict(sink_logs),
        taken_paths=taken_paths(context, job),
        created_ms=context.now_ms(),
        from_savepoint=from_savepoint,
        expected=begins.names.expected,
        new_queries=begins.names.new,
        code=str(code) if frozen.files else "",
        outside=large_files.places_of(frozen, places),
        locations=dict(begins.names.locations),
        warehouse=str(context.layout.warehouse(job)),
        resources=begins.taken,
        lead=begins.lead,
        taken_topics=begins.taken_topics,
        own_tables=begins.own_tables,
        is_new_fork=begins.is_new_fork,
        attempt=begins.attempt,
        is_scheduled=begins.is_scheduled,
    )


def write_spec(context: Context, spec: RunSpec) -> None:
    """The run's specification, and folders for what its driver writes: checkpoints are closed to others, outputs are its user's own.
    Nothing is made below a disk that is not mounted."""
    context.layout.checkpoints(spec.job, spec.run).parent.mkdir(exist_ok=True)
    is_made = not is_remote(spec.output) and job_places.is_there(spec.mark)
    for folder in filter(None, (spec.output if is_made else "", spec.warehouse)):
        rights.make_folder(Path(folder))
    context.files.write(context.layout.run(spec.job, spec.run) / SPEC_FILE, spec)


def wanted_run(spec: RunSpec) -> Run:
    """A run that no driver has started yet."""
    savepoint = SavepointId(spec.from_savepoint) if spec.from_savepoint else None
    return Run(
        spec.run,
        spec.job,
        spec.version,
        RunState.WANTED,
        spec.created_ms,
        from_savepoint=savepoint,
        checkpoints=spec.checkpoints,
        attempt=spec.attempt,
    )


def known(context: Context, job: str) -> JobName:
    """`job` as the name of an existing job; raises NotFound (`job.not_found`)."""
    name = JobName(job)
    if "/" in job or job.startswith(".") or not job or not context.files.has_begun(name):
        raise NotFound("job.not_found", f"There is no job {job!r}", "List the jobs to see their names.")
    return name


def newest(context: Context, job: JobName) -> Run | None:
    """The run that was requested last."""
    with context.catalog.reading() as reader:
        return run_rows.newest(reader, job)


def find(context: Context, run: RunId) -> Run | None:
    with context.catalog.reading() as reader:
        return run_rows.find(reader, run)


def of_job(context: Context, job: JobName) -> list[Run]:
    """All runs of a job, newest first."""
    with context.catalog.reading() as reader:
        return run_rows.of_job(reader, job)


def taken_paths(context: Context, job: JobName) -> tuple[str, ...]:
    """Directories that the file sinks of other jobs write to: two jobs on one silently drop each other's rows."""
    with context.catalog.reading() as reader:
        return tuple(run_rows.sink_paths(reader, job))


def update(context: Context, run: RunId, **changes: Any) -> Run:
    """The run as the catalog has it, with `changes`; nobody else changes it in between."""
    with context.catalog.writing() as writer:
        changed = replace(run_rows.get(writer, run), **changes)
        run_rows.save(writer, [changed])
        return changed


def follow(context: Context, before: RunId, begun: Run) -> Run:
    """The index with `begun`; the run before it, if it was to be restarted, has failed from now on."""
    with context.catalog.writing() as writer:
        past = run_rows.get(writer, before)
        run_rows.save(writer, [replace(past, state=RunState.FAILED), begun] if past.state is RunState.RESTARTING else [begun])
    return begun


def named_run(context: Context, job: JobName, run: str) -> Run:
    match = find(context, RunId(run))
    if match is None or match.job != job:
        raise NotFound("run.not_found", f"Job {job} has no run {run!r}", "The page of a job lists its runs.")
    return match


def discard(context: Context, job: JobName, run: RunId) -> None:
    """Removes a run that was begun here and is not wanted, with the checkpoint that it was to begin."""
    if place := job_places.of_job(context, job):
        job_places.remove(place, job_places.checkpoints(context, job, run, place))
    for folder in (context.layout.checkpoints(job, run), context.layout.run(job, run)):
        if folder.exists():
            shutil.rmtree(folder)
