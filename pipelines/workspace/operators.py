"""The parts of a job's queries: sources, stateful operators and sink at the newest batch, and Spark's plan as the driver wrote it."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog import operators as operator_rows
from pipelines.catalog import query_figures as figure_rows
from pipelines.domain.errors import NotFound, Unsupported
from pipelines.domain.ids import query_name
from pipelines.domain.jobs import Run
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import PLAN_FORMAT, PLANS_FOLDER, QueryPlan
from pipelines.domain.query_figures import QueryNow
from pipelines.verbs.jobs import ListOperators, ListPlans, ListQueries
from pipelines.workspace import runs, sources, table_lags
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers


@answers(ListOperators)
def newest(context: Context, question: ListOperators) -> Sequence[QueryOperators]:
    job = runs.known(context, question.job)
    with context.catalog.reading() as reader:
        queries = operator_rows.newest(reader, job)
    tables: dict[str, Sequence[str]] = {}
    if any(map(table_lags.reads_iceberg, queries)):
        tables = {query.query: query.tables for query in sources.started_before(context, job)}
    return [table_lags.with_lags(query, tables.get(query.query, ())) for query in queries]


@answers(ListQueries)
def queries(context: Context, question: ListQueries) -> Sequence[QueryNow]:
    now_ms = context.now_ms()
    jobs = context.listings.lately(context.catalog, now_ms)
    with context.catalog.reading() as reader:
        return figure_rows.newest(reader, now_ms, jobs)


@answers(ListPlans)
def plans(context: Context, question: ListPlans) -> Sequence[QueryPlan]:
    """The plans of the newest run by query; until it has any, those of the run before, if that ran the same version."""
    job, query = runs.known(context, question.job), question.query
    ran = runs.of_job(context, job)
    same = [run for run in ran if run.version == ran[0].version]
    known_plans = next((plans for run in same if (plans := _of_run(context, run))), [])
    answer = [plan for plan in known_plans if query in ("", plan.query)]
    if query and not answer:
        names = ", ".join(plan.query for plan in known_plans) or "none yet"
        raise NotFound("plan.not_found", f"No plan of query {query!r} of job {job} is known", f"Known: {names}.")
    return answer


def _of_run(context: Context, run: Run) -> list[QueryPlan]:
    folder = context.layout.run(run.job, run.id) / PLANS_FOLDER
    files = sorted(folder.glob("[!.]*.json"))
    plans = [plan for file in files if (plan := context.files.find(QueryPlan, file)) is not None]
    for plan in plans:
        if plan.format > PLAN_FORMAT:
            message = f"The plan of query {query_name(plan.query)} has format {plan.format}, this Tidemark reads {PLAN_FORMAT}"
            raise Unsupported("plan.format", message, "Look at it with the Tidemark whose driver wrote it.")
    return plans
