"""Cleans up after a crash: completes begun experiments, removes everything else that was not finished."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pipelines.catalog import operations as operation_rows
from pipelines.domain.errors import Unavailable
from pipelines.domain.hosts import Place
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Wanted
from pipelines.domain.operations import Operation, OperationState, failed
from pipelines.domain.processes import PROCESS_FILE, Process
from pipelines.domain.runs import RUN_LOCK
from pipelines.sandbox import members
from pipelines.savepoint import library, process_marks, restore
from pipelines.storage import hosts, paths
from pipelines.workspace import (
    changeovers,
    environments,
    events,
    experiments,
    exports,
    job_places,
    kept_differences,
    life,
    operations,
    proofs,
    readings,
    repairs,
    tag_removals,
    trash,
    what_ifs,
)
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable


def clean(context: Context) -> None:
    """Run once at the opening, when nobody else is at work in the workspace.

    0. Documents whose writing was broken off; 1. savepoints that were not published, disposals that were begun and tags of theirs, what
    exports left where they wrote, proofs, state that was read of savepoints that are gone and its differences,
    environments that nobody used for long; 2. jobs that have lost a document get another;
    3. experiments are completed, so that their forks are no half jobs; 4. forks of replays and bisections that ended with the server, and
    half jobs, go to the trash, jobs that were being forgotten are deleted; 5. restores and runs that nobody wants; 6. operations whose
    stop or changeover was never written down, and the reverse.
    """
    _unfinished_writes(context)  # 0
    _savepoints(context)  # 1
    tag_removals.clean(context)
    exports.clean(context)
    proofs.clean(context)
    members.clean(context.layout.warm, lambda run: _lives_elsewhere(context, run))
    kept_differences.clean(context)
    readings.clean(context)
    trash.clean(context)
    environments.clean(context)
    repairs.repair(context)  # 2
    experiments.complete(context)  # 3
    what_ifs.clean(context)  # 4
    _leftover_jobs(context)
    wanted_by_job = _wanted(context)
    for job in wanted_by_job:  # 5
        restore.clean(str(context.layout.job(job) / "checkpoints"), context.now_ms(), process_marks.lives_here)
        _unwanted_runs(context, job, wanted_by_job[job])
        _unbegun_checkpoints(context, job)
    _operations(context, wanted_by_job)  # 6


def _unfinished_writes(context: Context) -> None:
    """Removes what a kill left beside the documents of the workspace itself; savepoints and checkpoints are swept by the engine."""
    for folder in context.layout.of_documents():
        for path in folder.glob(f"{paths.TEMPORARY_PREFIX}*"):
            if path.is_file():
                path.unlink()


def _lives_elsewhere(context: Context, run: Path) -> bool:
    """Whether the driver of the run in this folder is a process of another host that holds its lock."""
    process = context.files.find(Process, run / PROCESS_FILE) if run.is_relative_to(context.layout.root) else None
    return process is not None and hosts.place(process.host) is Place.ELSEWHERE and hosts.is_locked(run / RUN_LOCK)


def _savepoints(context: Context) -> None:
    cleaned = library.clean(context.library, context.now_ms(), process_marks.lives_here)
    for savepoint in cleaned.unfinished:
        events.say(context, "savepoint.cleaned", None, savepoint, f"savepoint {savepoint} was never finished; what was there is removed")
    for savepoint in cleaned.disposed:
        events.say(context, "savepoint.disposed", None, savepoint, f"the disposal of savepoint {savepoint} was completed")
    for savepoint in cleaned.lost:
        message = f"savepoint {savepoint} has lost its manifest, and stays; dispose of it by its id, or put the manifest back from a copy"
        if not events.was_said_today(context, "savepoint.lost", savepoint):
            events.say(context, "savepoint.lost", None, savepoint, message)
    for left in cleaned.failed:
        events.say(context, left.error.code, None, left.id, f"savepoint {left.id} could not be cleaned up: {left.error.message}")


def _leftover_jobs(context: Context) -> None:
    listed = set(context.files.job_names())
    for folder in context.layout.jobs.iterdir():
        if folder.is_dir() and folder.name.startswith("."):
            if job_places.freed(context, folder):
                shutil.rmtree(folder)
        elif folder.is_dir() and folder.name not in listed:
            if not job_places.freed(context, folder):
                continue
            trash.put(context, folder)
            events.say(context, "job.cleaned", None, folder.name, f"{folder.name} was never begun in full; it is in the trash for a week")


def _wanted(context: Context) -> dict[JobName, Wanted]:
    """`wanted.json` of each job. A job whose file is damaged is left out, so that nothing of it is removed."""
    return dict(readable(lambda job: (job, context.files.wanted(job)), context.files.job_names(), []))


def _unwanted_runs(context: Context, job: JobName, wanted: Wanted) -> None:
    """Removes runs that were prepared and never wanted: no process has started them."""
    for run in context.files.run_ids(job):
        folder = context.layout.run(job, run)
        if run != wanted.run and not life.in_run(folder) and job_places.run_freed(context, job, run):
            trash.put(context, context.layout.checkpoints(job, run))
            trash.put(context, folder)


def _unbegun_checkpoints(context: Context, job: JobName) -> None:
    """Puts copies away whose run was never written down: their restore, or the rewriting of their state, was broken off. Those at a home,
    which an empty folder here stands for, are removed."""
    runs = context.layout.runs(job)
    begun = {folder.name for folder in runs.iterdir()} if runs.is_dir() else set()
    for folder in (context.layout.job(job) / "checkpoints").glob("*"):
        if folder.name not in begun and job_places.run_freed(context, job, RunId(folder.name)):
            trash.put(context, folder)
            gone = "removed" if job_places.of_job(context, job) else "in the trash for a week"
            message = f"a checkpoint of {job} was restored, and its run never begun; it is {gone}"
            events.say(context, "checkpoint.cleaned", job, folder.name, message)


def _operations(context: Context, wanted_by_job: Mapping[JobName, Wanted]) -> None:
    """Makes operations agree with `wanted.json` and `changeover.json`: fails running ones that neither names, begins their missing ones."""
    with context.catalog.reading() as reader:
        running = {operation.id: operation for operation in operation_rows.running(reader)}
    for job in wanted_by_job:
        stop = wanted_by_job[job].stop
        if stop is not None and running.pop(stop.operation, None) is None:
            operations.save(context, Operation(stop.operation, "stop", job, OperationState.RUNNING, context.now_ms()))
    for left in readable(lambda job: changeovers.find(context, job), wanted_by_job, []):
        if running.pop(left.operation, None) is None:
            operations.save(context, Operation(left.operation, left.kind, left.job, OperationState.RUNNING, context.now_ms()))
    for operation in running.values():
        error = Unavailable("operation.interrupted", "The server ended while the operation ran", "Begin it again.")
        operations.save(context, failed(operation, error, context.now_ms()))
