"""What-if forks that a piece of work runs for itself: begun, awaited, removed. They never restart, and no schedule or alert is theirs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pipelines.checkpoint import commits, logs
from pipelines.checkpoint.listing import listed
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import JobName, folder_of
from pipelines.domain.jobs import Job, Run
from pipelines.domain.lockstep import GONE, MOVED
from pipelines.domain.restart_strategies import RestartStrategy, Strategy
from pipelines.domain.runs import RunState
from pipelines.storage.addresses import open_storage
from pipelines.verbs.forget import Forget
from pipelines.verbs.stop import Stop
from pipelines.workspace import forks, jobs, runs, savepoints, stops
from pipelines.workspace.context import Context
from pipelines.workspace.forks import PlannedFork
from pipelines.workspace.tickets import Ticket

Q = TypeVar("Q", bound=str)
"""A query's name."""
PAUSE_S = 0.1
END_S = 20.0
"""How long the end of a fork that is in the way is waited for: nobody may be there who ends it."""
NOT_THE_CODE = {GONE, MOVED}
"""Errors of following that say nothing of the code."""


def begin(context: Context, fork: PlannedFork, ticket: Ticket) -> None:
    """Begins the fork. Raises what its plan refuses."""
    with context.holding(fork.job):
        prepared = forks.prepare(context, fork, None, ticket)
        begun = prepared.job
        job = Job(begun.name, begun.created_ms, begun.origin, limits=begun.limits, lead=begun.lead)
        job = replace(job, restarts=RestartStrategy(Strategy.NONE))
        context.files.write(context.layout.job_file(job.name), job)
        runs.publish(context, replace(prepared, job=job))


def ended(context: Context, job: JobName, until: Mapping[Q, int], ticket: Ticket, doing: str) -> str:
    """Waits for the end of the fork, and tells `ticket` how many batches it has; what its code failed with, empty where it has them all.

    Raises Conflict where somebody stopped it (`what_if.stopped`), or what it was to read is gone (`lockstep.gone`, `lockstep.moved`).
    """
    began = _committed(context, job, until)
    ticket.step(doing, sum(max(until[query] - batch, 0) for query, batch in began.items()), "batches")
    before = sum(began.values())
    while (run := _newest(context, job)).state.goes_on:
        now = sum(_committed(context, job, until).values())
        ticket.advance(max(now - before, 0))
        before = max(now, before)
        time.sleep(PAUSE_S)
    return _failure(run, until, _committed(context, job, until))


def remove(context: Context, job: JobName) -> None:
    """The fork is no more, with its savepoints. One that runs is ended at once; where nobody ends it in time it stays."""
    try:
        runs.known(context, job)
    except NotFound:
        return
    deadline = time.monotonic() + END_S
    if _newest(context, job).state.goes_on:
        stops.plan(context, Stop(job, at_once=True)).do()
    while _newest(context, job).state.goes_on and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
    if _newest(context, job).state.goes_on:
        return
    for savepoint in savepoints.newest_first(context, job):
        savepoints.dispose(context, savepoint.id)
    jobs.forget(context, Forget(job)).do(Ticket())


def _newest(context: Context, job: JobName) -> Run:
    run = runs.newest(context, job)
    if run is None:
        raise Conflict("what_if.gone", f"{job} was forgotten while it ran", "Begin it again.")
    return run


def _committed(context: Context, job: JobName, until: Mapping[Q, int]) -> dict[Q, int]:
    """Query -> its newest committed batch, -1 before the first."""
    checkpoints = _newest(context, job).checkpoints
    return {query: _newest_batch(str(Path(checkpoints) / folder_of(query))) for query in until}


def _newest_batch(checkpoint: str) -> int:
    try:
        return max(logs.batch_ids(listed(open_storage(checkpoint), commits.FOLDER).files(commits.FOLDER)), default=-1)
    except NotFound:
        return -1


def _failure(run: Run, until: Mapping[Q, int], committed: Mapping[Q, int]) -> str:
    if run.state is RunState.STOPPED:
        raise Conflict("what_if.stopped", f"{run.job} was stopped before it had read all", "Begin it again, and let it run.")
    if run.state.has_failed:
        if run.exit is None:
            return "The driver ended without a word."
        if run.exit.error_class in NOT_THE_CODE:
            raise Conflict(run.exit.error_class, run.exit.message, "Choose savepoints whose batches are still in the job's checkpoint.")
        return f"{run.exit.error_class}: {run.exit.message}"
    missing = [f"{query} after batch {committed[query]} of {batch}" for query, batch in until.items() if committed[query] < batch]
    return f"The code ended before it had read all: {', '.join(missing)}." if missing else ""
