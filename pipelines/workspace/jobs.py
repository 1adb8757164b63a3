"""Jobs: what lists and pages show of them, and forgetting one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipelines.catalog import batches as batch_rows
from pipelines.catalog import file_positions as position_rows
from pipelines.catalog import health as health_rows
from pipelines.catalog import jobs as job_rows
from pipelines.catalog import series as series_rows
from pipelines.catalog import summaries as summary_rows
from pipelines.domain.errors import Conflict
from pipelines.domain.experiments import BatchRow, Health, Series
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import JobDetail, JobSummary, Run
from pipelines.domain.runs import QUERIES_FILE
from pipelines.domain.sinks import FILE_SINKS, ROOT
from pipelines.savepoint.sink_places import inside
from pipelines.verbs.forget import Forget, ForgetPlan
from pipelines.verbs.jobs import ListBatches, ListJobs, ListRuns, ShowEventSeries, ShowJob, ShowSeries
from pipelines.verbs.listing import sorted_path
from pipelines.verbs.system import ShowHealth
from pipelines.workspace import events, home_leases, ingestion, job_places, probations, runs, savepoints, stalls
from pipelines.workspace.alerts import states
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.tickets import Ticket


@answers(ListJobs)
def summaries(context: Context, question: ListJobs) -> Sequence[JobSummary]:
    return states.with_findings(context, context.listings.now(context.catalog, context.now_ms()))


@answers(ShowHealth)
def health(context: Context, question: ShowHealth) -> Health:
    now_ms = context.now_ms()
    jobs = context.listings.lately(context.catalog, now_ms)
    with context.catalog.reading() as reader:
        figures = health_rows.health(reader, now_ms, jobs, span_ms=question.span_ms)
    disk = shutil.disk_usage(context.layout.root)
    return replace(figures, free_bytes=disk.free, total_bytes=disk.total)


@answers(ShowJob)
def detail(context: Context, question: ShowJob) -> JobDetail:
    with context.catalog.reading() as reader:
        known = summary_rows.detail(reader, context.now_ms(), runs.known(context, question.job))
    (summary,) = states.with_findings(context, [known.summary])
    summary = stalls.explained(context, summary, known.queries)
    if summary.run is None:
        return replace(known, summary=summary)
    job, run = summary.run.job, summary.run.id
    return replace(known, summary=summary, cluster=context.files.cluster(job, run), probation=probations.of_run(context, job, run))


@answers(ListRuns)
def list_runs(context: Context, question: ListRuns) -> Sequence[Run]:
    return runs.of_job(context, runs.known(context, question.job))


@answers(ListBatches)
def batches(context: Context, question: ListBatches) -> Sequence[BatchRow]:
    job = runs.known(context, question.job)
    limit, until_ms, before = question.limit, question.to_ms, question.before
    with context.catalog.reading() as reader:
        if not question.sort:
            return batch_rows.newest(reader, job, limit=limit, until_ms=until_ms, before=before)
        column, is_down = sorted_path(question), question.is_down
        return batch_rows.in_order(reader, job, column, is_down=is_down, limit=limit, until_ms=until_ms, before=before)


@answers(ShowSeries)
def series(context: Context, question: ShowSeries) -> Series:
    job = runs.known(context, question.job)
    with context.catalog.reading() as reader:
        return series_rows.series(reader, job, from_ms=question.from_ms, to_ms=question.to_ms, points=question.points)


@answers(ShowEventSeries)
def event_series(context: Context, question: ShowEventSeries) -> Series:
    with context.catalog.reading() as reader:
        return series_rows.event_series(reader, runs.known(context, question.job), points=question.points)


@plans(Forget)
def forget(context: Context, change: Forget) -> Planned[None, ForgetPlan]:
    """Raises Conflict (`job.running`, `job.needed`)."""
    name = runs.known(context, change.job)
    _refuse_live(context, name)
    job_places.refuse_away(context, name)
    _refuse_needed(context, name)
    ran = tuple(run.id for run in runs.of_job(context, name))
    savepoint_count = len(savepoints.newest_first(context, name))
    plan = ForgetPlan(name, ran, str(context.layout.job(name)), savepoint_count)
    return Planned(plan, lambda ticket: _forget(context, name, ticket))


def _forget(context: Context, name: JobName, ticket: Ticket) -> None:
    """Removes a job that is not running; its savepoints stay.

    The order: (1) its folder gets a hidden name, from here the job is no more; (2) the catalog forgets it; (3) its bytes at a
    home and the folder are deleted, which the next opening completes.
    """
    home_leases.refuse_foreign(context, name, ticket)
    with context.holding(name):
        runs.known(context, name)
        _refuse_live(context, name)
        _refuse_needed(context, name)
        place = job_places.of_job(context, name)
        aside = context.layout.jobs / f".forgotten-{context.new_id(name)}"
        move(context, name, aside)  # 1, 2
        events.say(context, "job.forgotten", None, name, f"{name} was forgotten; its savepoints stay")
        job_places.remove(place)  # 3
        shutil.rmtree(aside)


def move(context: Context, name: JobName, aside: Path) -> None:
    """Moves the folder of a job that does not run `aside`; the catalog forgets it."""
    context.files.check()
    with context.ingesting:
        context.layout.job(name).rename(aside)
        with context.catalog.writing() as writer:
            job_rows.forget(writer, name)
            position_rows.forget(writer, f"jobs/{name}")
        ingestion.leave(context, f"jobs/{name}/")


def _refuse_live(context: Context, name: JobName) -> None:
    newest = runs.newest(context, name)
    if newest is not None and newest.state.goes_on:
        raise Conflict("job.running", f"Job {name} is running", "Stop it first.")


def _refuse_needed(context: Context, name: JobName) -> None:
    """Raises Conflict while forks need the job's output: a file sink's history is linked from there when a fork begins."""
    folder = str(context.layout.job(name))
    places = [folder, *filter(None, [job_places.of_job(context, name)])]
    for savepoint in savepoints.newest_first(context, name):
        if any(image.sink.lower() in FILE_SINKS and any(inside(image.sink_path, place) for place in places) for image in savepoint.queries):
            hint = "Dispose of the job's savepoints first, or leave the job stopped."
            raise Conflict("job.needed", f"Savepoint {savepoint.id} needs the output of {name}: its forks begin with it", hint)
    for job in filter(None, map(context.files.job, context.files.job_names())):
        if job.origin is not None and job.origin.job == name and not has_begun(context, job.name) and _links(context, job.name, places):
            hint = f"Wait until {job.name} runs, or forget it first."
            raise Conflict("job.needed", f"The fork {job.name} has not linked its history from {name}'s output yet", hint)


def _links(context: Context, fork: JobName, parent: Sequence[str]) -> bool:
    """Whether the fork will link files from below its parent's folders: its sink logs say where their files are."""
    specs = [context.files.spec(fork, run) for run in context.files.run_ids(fork)]
    roots = [Path(folder, ROOT) for spec in specs for folder in spec.sink_logs.values()]
    return any(inside(root.read_text(), folder) for root in roots if root.is_file() for folder in parent)


def has_begun(context: Context, fork: JobName) -> bool:
    """Whether a query of the fork ever started: its driver links the history before that."""
    return any((context.layout.run(fork, run) / QUERIES_FILE).is_file() for run in context.files.run_ids(fork))
