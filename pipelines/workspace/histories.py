"""Event logs of runs: found in their folders, shown by Spark's own history server, and removed once a job has many of them."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from urllib.parse import urlsplit

from pipelines.domain import event_logs
from pipelines.domain.errors import NotFound, Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.verbs.history import HistoryPlace, HistoryPlan, OpenHistory
from pipelines.workspace import attachments, runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.tickets import Ticket


@plans(OpenHistory)
def plan(context: Context, change: OpenHistory) -> Planned[HistoryPlace, HistoryPlan]:
    """Raises NotFound (`run.not_found`, `history.no_log`), Unavailable (`history.server`), Conflict (`job.attached`)."""
    name = runs.known(context, change.job)
    attachments.refuse(context, name, "looked at in a history server")
    run = runs.named_run(context, name, change.run) if change.run else runs.newest(context, name)
    if run is None:
        raise NotFound("run.not_found", f"Job {name} never ran", "Resume it to start a run.")
    log = _newest(context, run)
    if not context.history.is_open:
        hint = "Start one (python3 -m dashboard), and ask again."
        raise Unavailable("history.server", "Spark's history server lives with Tidemark's, and none runs", hint)
    shown = HistoryPlan(name, run.id, event_logs.application(log.name), _size(log))
    return Planned(shown, lambda ticket: _open(context, shown, ticket))


def _open(context: Context, plan: HistoryPlan, ticket: Ticket) -> HistoryPlace:
    logs = {log.name: log for job in context.files.job_names() for log in _of_job(context, job)}
    url = context.history.address(logs, plan.application, ticket.check)
    port = urlsplit(url).port
    return HistoryPlace(plan.job, plan.run, plan.application, url, f"ssh -N -L {port}:127.0.0.1:{port} {socket.gethostname()}")


def _of_job(context: Context, job: JobName) -> list[Path]:
    return [log for run in context.files.run_ids(job) for log in _logs(context.layout.run(job, run))]


def _logs(run: Path) -> list[Path]:
    """The rolling event logs in a run's folder; a link in their place, which the job may have made, is none."""
    folder = run / event_logs.FOLDER
    listed = folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ()
    return [log for log in listed if event_logs.application(log.name) and log.is_dir() and not log.is_symlink()]


def _newest(context: Context, run: Run) -> Path:
    """The event log of the run's newest application."""
    logs = _logs(context.layout.run(run.job, run.id))
    if logs:
        return max(logs, key=lambda log: log.stat().st_mtime_ns)
    conf = context.files.spec(run.job, run.id).conf
    if conf.get(event_logs.ENABLED, "").lower() != "true":
        hint = "Begin a run that has one: --conf spark.eventLog.enabled=true with run, fork or resume."
        raise NotFound("history.no_log", f"Run {run.id} of {run.job} keeps no event log", hint)
    place = conf.get(event_logs.DIRECTORY, "")
    hint = "It is there once its Spark has started; of a job's runs the newest ten keep theirs, and what a conf puts elsewhere stays there."
    raise NotFound(
        "history.no_log", f"There is no event log of run {run.id} of {run.job} in its folder (spark.eventLog.dir is {place})", hint
    )


def _size(log: Path) -> int:
    return sum(file.stat().st_size for file in log.iterdir())


def prune(context: Context, job: JobName) -> None:
    """Removes the event logs of all but the job's newest runs, as another one is about to begin."""
    for run in runs.of_job(context, job)[event_logs.RUNS_KEPT - 1 :]:
        folder = context.layout.run(job, run.id) / event_logs.FOLDER
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
