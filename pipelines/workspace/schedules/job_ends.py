"""Whether a job ends by itself, as far as its runs of the newest version tell."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.runs import RunState
from pipelines.workspace import runs, sources
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class Ends:
    """The queries that keep a job from ending, and whether anything is known of it."""

    queries: tuple[QueryName, ...] = ()
    is_known: bool = True


def of_job(context: Context, job: JobName) -> Ends:
    """A job that has ended by itself before ends, whatever its triggers are: its code may stop its queries. Else the newest run in which
    queries came up says it by their triggers."""
    ran = runs.of_job(context, job)
    same = [run for run in ran if run.version == ran[0].version]
    if any(run.state is RunState.FINISHED for run in same):
        return Ends()
    started = next((queries for run in same if (queries := list(sources.started_queries(context, job, run.id)))), [])
    endless = tuple({query.query: None for query in started if query.trigger is not None and not query.trigger.ends})
    return Ends(endless, is_known=bool(started) and all(query.trigger is not None for query in started))
