"""Jobs: what lists and pages show of them, and forgetting one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace

from pipelines.catalog import batches as batch_rows
from pipelines.catalog import health as health_rows
from pipelines.catalog import jobs as job_rows
from pipelines.catalog import series as series_rows
from pipelines.catalog import summaries as summary_rows
from pipelines.catalog import tails as tail_rows
from pipelines.domain.errors import Conflict
from pipelines.domain.experiments import BatchRow, Health, Series
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import JobDetail, JobSummary
from pipelines.domain.runs import QUERIES_FILE
from pipelines.savepoint.sinks import FILE_SINKS, inside
from pipelines.workspace import events, runs, savepoints, tails
from pipelines.workspace.parts import Parts


def summaries(parts: Parts) -> Sequence[JobSummary]:
    with parts.catalog.reading() as reader:
        return summary_rows.listed(reader, parts.now_ms())


def health(parts: Parts, span_ms: int) -> Health:
    with parts.catalog.reading() as reader:
        found = health_rows.health(reader, parts.now_ms(), span_ms=span_ms)
    disk = shutil.disk_usage(parts.layout.root)
    return replace(found, free_bytes=disk.free, total_bytes=disk.total)


def detail(parts: Parts, job: str) -> JobDetail:
    with parts.catalog.reading() as reader:
        return summary_rows.detail(reader, parts.now_ms(), runs.known(parts, job))


def batches(parts: Parts, job: str, limit: int) -> Sequence[BatchRow]:
    with parts.catalog.reading() as reader:
        return batch_rows.newest(reader, runs.known(parts, job), limit=limit)


def series(parts: Parts, job: str, from_ms: int, to_ms: int, points: int) -> Series:
    with parts.catalog.reading() as reader:
        return series_rows.series(reader, runs.known(parts, job), from_ms=from_ms, to_ms=to_ms, points=points)


def event_series(parts: Parts, job: str, points: int) -> Series:
    with parts.catalog.reading() as reader:
        return series_rows.event_series(reader, runs.known(parts, job), points=points)


def forget(parts: Parts, job: str) -> None:
    """Removes a job that is not running; its savepoints stay. Raises Conflict (`job.running`, `job.needed`).

    The order: (1) its folder gets a hidden name, from here the job is no more; (2) the catalog forgets it; (3) the folder is deleted,
    which the next opening completes.
    """
    name = runs.known(parts, job)
    with parts.holding(name):
        newest = runs.newest(parts, name)
        if newest is not None and newest.state.live:
            raise Conflict("job.running", f"Job {name} is running", "Stop it first.")
        _refuse_needed(parts, name)
        aside = parts.layout.jobs / f".forgotten-{parts.new_id(name)}"
        with parts.tailing:
            parts.layout.job(name).rename(aside)  # 1
            with parts.catalog.writing() as writer:  # 2
                job_rows.forget(writer, name)
                tail_rows.forget(writer, f"jobs/{name}")
            tails.leave(parts, f"jobs/{name}/")
        events.say(parts, "job.forgotten", None, name, f"{name} was forgotten; its savepoints stay")
        shutil.rmtree(aside)  # 3


def _refuse_needed(parts: Parts, name: JobName) -> None:
    """A file sink's history is in the job's output: its savepoints' forks, and those that have not begun, still take it from there."""
    output = str(parts.layout.output(name))
    for savepoint in savepoints.newest_first(parts, name):
        if any(image.sink.lower() in FILE_SINKS and inside(image.sink_path, output) for image in savepoint.queries):
            hint = "Dispose of the job's savepoints first, or leave the job stopped."
            raise Conflict("job.needed", f"Savepoint {savepoint.id} needs the output of {name}: its forks carry it on", hint)
    for job in filter(None, map(parts.files.job, parts.files.job_names())):
        if job.origin is not None and job.origin.job == name and not has_begun(parts, job.name):
            hint = f"Wait until {job.name} runs, or forget it first."
            raise Conflict("job.needed", f"The fork {job.name} has not taken its history out of {name}'s output yet", hint)


def has_begun(parts: Parts, fork: JobName) -> bool:
    """Whether a query of the fork ever started: its driver links the history before that."""
    return any((parts.layout.run(fork, run) / QUERIES_FILE).is_file() for run in parts.files.run_ids(fork))
