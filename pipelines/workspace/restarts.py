"""Restart strategies of jobs, part of `job.json`, and what was decided about a run that failed."""

from __future__ import annotations

from dataclasses import replace

from pipelines.catalog import runs as run_rows
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job, Run
from pipelines.domain.restart_strategies import changed
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.runs import RESTART_FILE, RunState
from pipelines.verbs.restart_strategy import RestartStrategyPlan, SetRestartStrategy
from pipelines.workspace import attachments, events, repairs, runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans


@plans(SetRestartStrategy)
def plan(context: Context, change: SetRestartStrategy) -> Planned[Job, RestartStrategyPlan]:
    """Raises what `domain.restart_strategies.changed` raises; Conflict (`job.attached`)."""
    name = runs.known(context, change.job)
    attachments.refuse(context, name, "restarted")
    before = repairs.known_job(context, name).restarts
    after = changed(before, change.strategy, change.given())
    return Planned(RestartStrategyPlan(name, before, after), lambda _: _set(context, name, change))


def _set(context: Context, name: JobName, change: SetRestartStrategy) -> Job:
    """Applies one change at a time to the newest strategy: first the file, then the index. A restart that waits keeps its time."""
    with context.holding(name):
        before = repairs.known_job(context, name)
        job = replace(before, restarts=changed(before.restarts, change.strategy, change.given()))
        if job == before:
            return job
        repairs.save(context, job)
    events.say(context, "job.restart_strategy", name, name, f"the restart strategy of {name} is {job.restarts.strategy.value}")
    return job


def cancel(context: Context, run: Run) -> None:
    """Ends the wait of a run that is restarting; nothing for any other."""
    if run.state is RunState.RESTARTING and run.restart is not None:
        keep(context, run, replace(run.restart, at_ms=None, back=None, why="it was stopped while it waited"))
        events.say(context, "restart.cancelled", run.job, run.id, f"{run.job} was stopped while it waited for its restart")


def keep(context: Context, run: Run, decision: RestartDecision) -> None:
    """Keeps that a run which waits for its restart is restarted later, or not after all: first the file, then the index."""
    context.files.write(context.layout.run(run.job, run.id) / RESTART_FILE, decision)
    state = RunState.FAILED if decision.at_ms is None else RunState.RESTARTING
    with context.catalog.writing() as writer:
        run_rows.save(writer, [replace(run, state=state, restart=decision)])
