"""Savepoints that people ask for: into the workspace, or to a URL."""

from __future__ import annotations

from pipelines.domain.errors import Invalid
from pipelines.domain.savepoints import Savepoint, TakePlan
from pipelines.verbs.take import Take
from pipelines.workspace import exports, runs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans


@plans(Take)
def plan(context: Context, change: Take) -> Planned[Savepoint, TakePlan]:
    """A savepoint of a job, running or not; published when it is done. Raises what `pipelines.savepoint.take` raises."""
    name = runs.known(context, change.job)
    if change.to and change.home:
        raise Invalid(
            "savepoint.to_and_home", "A savepoint is exported (--to) or kept elsewhere (--home), not both", "Leave one of them out."
        )
    if change.to:
        return exports.plan_take(context, name, change)
    planned = savepoints.planned_take(context, name, change)
    return Planned(planned.plan, lambda ticket: savepoints.publish(context, planned, ticket))
