"""What a crash left: begun experiments are completed, everything else that was not finished is removed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pipelines.catalog import operations as operation_rows
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Wanted
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.runs import EXIT_FILE, PROCESS_FILE
from pipelines.savepoint import library, restore
from pipelines.workspace import events, experiments, exports, operations, proving, readings, resumes
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable


def clean(context: Context) -> None:
    """Run once at the opening, when nobody else is at work in the workspace.

    1. Savepoints that were not published, disposals that were begun, what exports left where they wrote, proofs, and state that was read of
    savepoints that are gone; 2. experiments are completed, so that their forks are no half jobs; 3. half jobs and jobs that were being
    forgotten; 4. restores and runs that nobody wants; 5. operations whose stop was never written down, and the reverse.
    """
    _savepoints(context)  # 1
    exports.clean(context)
    proving.clean(context)
    readings.clean(context)
    experiments.complete(context)  # 2
    for folder in _leftover_jobs(context):  # 3
        shutil.rmtree(folder)
    wanted = _wanted(context)
    for job in wanted:  # 4
        restore.clean(str(context.layout.job(job) / "checkpoints"), context.now_ms())
        _unwanted_runs(context, job, wanted[job])
    _operations(context, wanted)  # 5


def _savepoints(context: Context) -> None:
    cleaned = library.clean(context.library, context.now_ms())
    for savepoint in cleaned.unfinished:
        events.say(context, "savepoint.cleaned", None, savepoint, f"savepoint {savepoint} was never finished; what was there is removed")
    for savepoint in cleaned.disposed:
        events.say(context, "savepoint.disposed", None, savepoint, f"the disposal of savepoint {savepoint} was completed")


def _leftover_jobs(context: Context) -> list[Path]:
    listed = set(context.files.job_names())
    return [folder for folder in context.layout.jobs.iterdir() if folder.is_dir() and folder.name not in listed]


def _wanted(context: Context) -> dict[JobName, Wanted]:
    """What is wanted of each job. One whose `wanted.json` is damaged is left alone: nothing of it may be removed by mistake."""
    return dict(readable(lambda job: (job, context.files.wanted(job)), context.files.job_names(), []))


def _unwanted_runs(context: Context, job: JobName, wanted: Wanted) -> None:
    """Runs that were prepared and never wanted: no process ever saw them."""
    for run in context.files.run_ids(job):
        folder = context.layout.run(job, run)
        if run != wanted.run and not (folder / PROCESS_FILE).exists() and not (folder / EXIT_FILE).exists():
            resumes.discard(context, job, run)


def _operations(context: Context, wanted: Mapping[JobName, Wanted]) -> None:
    """Operations and `wanted.json` agree again: one without the other is failed, or begun."""
    with context.catalog.reading() as reader:
        running = {operation.id: operation for operation in operation_rows.running(reader)}
    for job in wanted:
        asked = wanted[job].stop
        if asked is not None and running.pop(asked.operation, None) is None:
            operations.save(context, Operation(asked.operation, "stop", job, OperationState.RUNNING, context.now_ms()))
    for operation in running.values():
        error = Unavailable("operation.interrupted", "The server ended before this was written down", "Ask again.")
        operations.save(context, operations.failed(operation, error, context.now_ms()))
