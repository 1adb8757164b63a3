"""A run as it is seen: its files and its process, read anew for every decision."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.bounds import Moment
from pipelines.domain.ids import VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.probations import Stand, Way
from pipelines.domain.processes import TERMINATED_FILE, Process
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.domain.supervision import Seen
from pipelines.supervisor import elsewhere, held, processes
from pipelines.workspace import probations
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class Terminated:
    """When SIGTERM was sent, or the driver of another host was told so by this file."""

    at_ms: Moment
    by_file: bool = False


def look(context: Context, run: Run) -> tuple[Seen, Process | None]:
    folder = context.layout.run(run.job, run.id)
    process = context.files.process(run.job, run.id)
    there = elsewhere.stand(context, run, process) if process is not None and elsewhere.is_elsewhere(process) else None
    alive = there is elsewhere.Stand.LIVES or (process is not None and processes.alive(process))
    terminated = context.files.find(Terminated, folder / TERMINATED_FILE)
    probation = probations.of_run(context, run.job, run.id) if run.state.live else None
    given_up = probation if probation and probation.stand is Stand.BACK else None
    seen = Seen(
        run=run.id,
        started_ms=process.began_ms if process else None,
        alive=alive,
        remains=process is not None and not alive and run.state.live and processes.remains(process, folder),
        exit=context.files.exit(run.job, run.id),
        return_code=processes.return_code(process) if process and not alive else None,
        settled=not run.state.live,
        queries_up=_has_content(folder / QUERIES_FILE),
        streams=streams(context, run.version),
        terminated_ms=terminated.at_ms if terminated else None,
        exceeded=held.exceeded(context, folder, process if alive else None) if run.state.live else "",
        missed=given_up.why if given_up else "",
        is_cut_back=given_up is not None and given_up.way is Way.SAVEPOINT,
        elsewhere=process.host.name if there and process and process.host else "",
        is_lost=there is elsewhere.Stand.LOST,
        restart_ms=run.restart.at_ms if run.restart and run.state is RunState.RESTARTING else None,
    )
    return seen, process


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def streams(context: Context, version: VersionId) -> bool:
    """Whether the script means to start queries: one that does counts as running when its first query is up."""
    if version not in context.streaming:
        stored = context.files.version(version)
        context.streaming[version] = stored is not None and "writeStream" in stored.code
    return context.streaming[version]
