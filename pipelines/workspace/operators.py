"""What a job's queries are made of: sources, stateful operators and sink at the newest batch, and Spark's plan as the driver wrote it."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog import operators as operator_rows
from pipelines.domain.errors import NotFound, Unsupported
from pipelines.domain.ids import query_name
from pipelines.domain.jobs import Run
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import PLAN_FORMAT, PLANS_FOLDER, QueryPlan
from pipelines.workspace import runs
from pipelines.workspace.context import Context


def newest(context: Context, job: str) -> Sequence[QueryOperators]:
    with context.catalog.reading() as reader:
        return operator_rows.newest(reader, runs.known(context, job))


def plans(context: Context, job: str, query: str) -> Sequence[QueryPlan]:
    """Of the newest run, and until it has one of the run before while that ran the same version; by query."""
    ran = runs.of_job(context, runs.known(context, job))
    same = [run for run in ran if run.version == ran[0].version]
    found = next((plans for run in same if (plans := _of_run(context, run))), [])
    wanted = [plan for plan in found if query in ("", plan.query)]
    if query and not wanted:
        known = ", ".join(plan.query for plan in found) or "none yet"
        raise NotFound("plan.not_found", f"No plan of query {query!r} of job {job} is known", f"Known: {known}.")
    return wanted


def _of_run(context: Context, run: Run) -> list[QueryPlan]:
    folder = context.layout.run(run.job, run.id) / PLANS_FOLDER
    files = sorted(folder.glob("[!.]*.json"))
    plans = [plan for file in files if (plan := context.files.find(QueryPlan, file)) is not None]
    for plan in plans:
        if plan.format > PLAN_FORMAT:
            message = f"The plan of query {query_name(plan.query)} has format {plan.format}, this Tidemark reads {PLAN_FORMAT}"
            raise Unsupported("plan.format", message, "Look at it with the Tidemark whose driver wrote it.")
    return plans
