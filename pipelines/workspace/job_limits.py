"""Limits of jobs: part of `job.json`, replaced whole."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.ids import JobName
from pipelines.domain.job_limits import changed
from pipelines.domain.jobs import Job
from pipelines.verbs.set_limits import LimitsPlan, SetLimits
from pipelines.workspace import events, repairs, runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans


@plans(SetLimits)
def plan(context: Context, change: SetLimits) -> Planned[Job, LimitsPlan]:
    """Raises what `domain.job_limits.changed` raises."""
    name = runs.known(context, change.job)
    before = repairs.known_job(context, name).limits
    return Planned(LimitsPlan(name, before, changed(before, change.given())), lambda _: _set(context, name, change))


def _set(context: Context, name: JobName, change: SetLimits) -> Job:
    """Applies one change at a time to the newest limits: first the file, then the index."""
    with context.holding(name):
        before = repairs.known_job(context, name)
        job = replace(before, limits=changed(before.limits, change.given()))
        repairs.save(context, job)
    events.say(context, "job.limits", name, name, f"the limits of {name} are changed")
    return job
