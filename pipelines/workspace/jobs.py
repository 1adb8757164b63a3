"""Jobs: what lists and pages show of them, and forgetting one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace

from pipelines.catalog import batches as batch_rows
from pipelines.catalog import file_positions as position_rows
from pipelines.catalog import health as health_rows
from pipelines.catalog import jobs as job_rows
from pipelines.catalog import series as series_rows
from pipelines.catalog import summaries as summary_rows
from pipelines.domain.errors import Conflict
from pipelines.domain.experiments import BatchRow, Health, Series
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import JobDetail, JobSummary
from pipelines.domain.runs import QUERIES_FILE
from pipelines.savepoint.sinks import FILE_SINKS, inside
from pipelines.workspace import events, ingestion, runs, savepoints
from pipelines.workspace.context import Context


def summaries(context: Context) -> Sequence[JobSummary]:
    with context.catalog.reading() as reader:
        return summary_rows.listed(reader, context.now_ms())


def health(context: Context, span_ms: int) -> Health:
    with context.catalog.reading() as reader:
        found = health_rows.health(reader, context.now_ms(), span_ms=span_ms)
    disk = shutil.disk_usage(context.layout.root)
    return replace(found, free_bytes=disk.free, total_bytes=disk.total)


def detail(context: Context, job: str) -> JobDetail:
    with context.catalog.reading() as reader:
        return summary_rows.detail(reader, context.now_ms(), runs.known(context, job))


def batches(context: Context, job: str, limit: int) -> Sequence[BatchRow]:
    with context.catalog.reading() as reader:
        return batch_rows.newest(reader, runs.known(context, job), limit=limit)


def series(context: Context, job: str, from_ms: int, to_ms: int, points: int) -> Series:
    with context.catalog.reading() as reader:
        return series_rows.series(reader, runs.known(context, job), from_ms=from_ms, to_ms=to_ms, points=points)


def event_series(context: Context, job: str, points: int) -> Series:
    with context.catalog.reading() as reader:
        return series_rows.event_series(reader, runs.known(context, job), points=points)


def forget(context: Context, job: str) -> None:
    """Removes a job that is not running; its savepoints stay. Raises Conflict (`job.running`, `job.needed`).

    The order: (1) its folder gets a hidden name, from here the job is no more; (2) the catalog forgets it; (3) the folder is deleted,
    which the next opening completes.
    """
    name = runs.known(context, job)
    with context.holding(name):
        newest = runs.newest(context, name)
        if newest is not None and newest.state.live:
            raise Conflict("job.running", f"Job {name} is running", "Stop it first.")
        _refuse_needed(context, name)
        aside = context.layout.jobs / f".forgotten-{context.new_id(name)}"
        with context.ingesting:
            context.layout.job(name).rename(aside)  # 1
            with context.catalog.writing() as writer:  # 2
                job_rows.forget(writer, name)
                position_rows.forget(writer, f"jobs/{name}")
            ingestion.leave(context, f"jobs/{name}/")
        events.say(context, "job.forgotten", None, name, f"{name} was forgotten; its savepoints stay")
        shutil.rmtree(aside)  # 3


def _refuse_needed(context: Context, name: JobName) -> None:
    """A file sink's history is in the job's output: its savepoints' forks, and those that have not begun, still take it from there."""
    output = str(context.layout.output(name))
    for savepoint in savepoints.newest_first(context, name):
        if any(image.sink.lower() in FILE_SINKS and inside(image.sink_path, output) for image in savepoint.queries):
            hint = "Dispose of the job's savepoints first, or leave the job stopped."
            raise Conflict("job.needed", f"Savepoint {savepoint.id} needs the output of {name}: its forks carry it on", hint)
    for job in filter(None, map(context.files.job, context.files.job_names())):
        if job.origin is not None and job.origin.job == name and not has_begun(context, job.name):
            hint = f"Wait until {job.name} runs, or forget it first."
            raise Conflict("job.needed", f"The fork {job.name} has not taken its history out of {name}'s output yet", hint)


def has_begun(context: Context, fork: JobName) -> bool:
    """Whether a query of the fork ever started: its driver links the history before that."""
    return any((context.layout.run(fork, run) / QUERIES_FILE).is_file() for run in context.files.run_ids(fork))
