"""Whether a job can be resumed now, and as which version."""

from __future__ import annotations

from contextlib import suppress

from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.workspace import operations, runs
from pipelines.workspace.context import Context


def base(context: Context, job: JobName, version: str) -> str:
    """`version`, which the job has run; NotFound (`version.not_run`) where it has not."""
    ran = {run.version for run in runs.of_job(context, job)}
    if version and version not in ran:
        hint = f"It ran {', '.join(sorted(ran))}. Another job's code is taken over with --code."
        raise NotFound("version.not_run", f"{job} never ran version {version}", hint)
    return version


def ended(context: Context, job: JobName) -> Run:
    """Its newest run, which has ended; Conflict (`job.running`)."""
    newest = runs.newest(context, job)
    if newest is None or newest.state.live or _is_stopping(context, job):
        hint = "Stop it first, or wait until it has stopped. To change the code of one that runs, upgrade it."
        raise Conflict("job.running", f"Job {job} is running or still stopping", hint)
    return newest


def _is_stopping(context: Context, job: JobName) -> bool:
    """Whether the operation of its stop is still running; `wanted.json` holds the stop a moment longer."""
    stop = context.files.wanted(job).stop
    if stop is None:
        return False
    with suppress(NotFound):  # the catalog was rebuilt meanwhile
        return operations.get(context, stop.operation).state is OperationState.RUNNING
    return True
