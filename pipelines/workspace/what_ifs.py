"""What-if forks that a piece of work runs for itself: begun, awaited, removed. They never restart, and no schedule or alert is theirs.

`what-if.json` says of a fork what it is run for. The opening puts away a fork that has it: no work goes on in a workspace that is opened.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pipelines.checkpoint import commits, logs
from pipelines.checkpoint.listing import listed
from pipelines.domain.errors import Conflict, NotFound, TidemarkError
from pipelines.domain.ids import JobName, folder_of
from pipelines.domain.jobs import Job, Run
from pipelines.domain.lockstep import GONE, MOVED
from pipelines.domain.replays import SERVER_ENDED, Outcome, Replay
from pipelines.domain.restart_strategies import RestartStrategy, Strategy
from pipelines.domain.runs import RunState
from pipelines.domain.what_ifs import WhatIf
from pipelines.sandbox import processes
from pipelines.storage.addresses import open_storage
from pipelines.verbs.forget import Forget
from pipelines.verbs.stop import Stop
from pipelines.workspace import events, forks, jobs, runs, savepoints, stops, trash
from pipelines.workspace.context import Context
from pipelines.workspace.forks import PlannedFork
from pipelines.workspace.tickets import Ticket

Q = TypeVar("Q", bound=str)
"""A query's name."""
PAUSE_S = 0.1
GRACE_S = 5.0
"""How long a fork that is in the way may take to end; then whatever is left of its driver is ended."""
END_S = 20.0
"""How long it is waited for that its end is written down: nobody may be there who does."""
NOT_THE_CODE = {GONE, MOVED}
"""Errors of following that say nothing of the code."""


def begin(context: Context, fork: PlannedFork, what_if: WhatIf, ticket: Ticket) -> None:
    """Begins the fork. Raises what its plan refuses."""
    with context.holding(fork.job):
        prepared = forks.prepare(context, fork, None, ticket)
        context.files.write(context.layout.what_if_file(fork.job), what_if)
        begun = prepared.job
        job = Job(begun.name, begun.created_ms, begun.origin, limits=begun.limits, resources=begun.resources, lead=begun.lead)
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
    """The fork is no more, with its savepoints. One that runs is ended at once; where nobody writes its end down it stays until the next
    opening."""
    try:
        runs.known(context, job)
    except NotFound:
        return
    if _newest(context, job).state.goes_on:
        stops.plan(context, Stop(job, at_once=True)).do()
    if not _has_ended(context, job, GRACE_S):
        with context.holding(job):  # so that no driver is just being started
            processes.end(context.layout.job(job))
        if not _has_ended(context, job, END_S):
            return
    for savepoint in savepoints.newest_first(context, job):
        savepoints.dispose(context, savepoint.id)
    jobs.forget(context, Forget(job)).do(Ticket())


def keep(context: Context, job: JobName) -> None:
    """The fork is a job like any other from now on."""
    context.files.remove(context.layout.what_if_file(job))


def clean(context: Context) -> None:
    """At the opening: puts forks whose work ended with the server into the trash, and lists their replays as failed."""
    for file in sorted(context.layout.jobs.glob(f"[!.]*/{context.layout.what_if_file(JobName('*')).name}")):
        job = JobName(file.parent.name)
        try:
            _put_away(context, job)
        except TidemarkError as error:
            events.say(context, error.code, job, job, f"the fork {job} could not be put away: {error.message}")


def _put_away(context: Context, job: JobName) -> None:
    """1. the replay is listed as failed, where it is not listed yet; a fork that it keeps stays; 2. what runs of the fork is ended;
    3. its folder goes to the trash."""
    what_if = context.files.what_if(job)
    if what_if is None:
        return
    if what_if.replay is not None and _listed(context, what_if.replay).kept:  # 1
        keep(context, job)
        return
    folder = context.layout.job(job)
    processes.end(folder)  # 2
    jobs.move(context, job, trash.place(context, folder))  # 3
    message = f"{job} ran for {what_if.work}, which ended with the server; it is in the trash for a week"
    events.say(context, "job.cleaned", None, job, message)


def _listed(context: Context, unended: Replay) -> Replay:
    """The replay as it ended; failed now, where it had not."""
    listed = context.files.replay(unended.id)
    if listed is not None:
        return listed
    now_ms = context.now_ms()
    failed = replace(
        unended, created_ms=now_ms, took_ms=now_ms - unended.created_ms, outcome=Outcome.FAILED, kept=False, failure=SERVER_ENDED
    )
    context.files.write(context.layout.replay_file(failed.id), failed)
    events.say(context, "job.replayed", failed.job, failed.id, f"a replay of {failed.job} failed: the server ended meanwhile")
    return failed


def _has_ended(context: Context, job: JobName, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while (goes_on := _newest(context, job).state.goes_on) and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
    return not goes_on


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
