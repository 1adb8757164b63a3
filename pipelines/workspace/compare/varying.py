"""What of jobs in lock-step depends on the clock or on chance, as their drivers noted it of each query's plan."""

from __future__ import annotations

from pipelines.domain import lockstep
from pipelines.domain.ids import JobName
from pipelines.workspace import sources
from pipelines.workspace.context import Context


def of_jobs(context: Context, *jobs: JobName, query: str = "") -> tuple[str, ...]:
    """Of one query, or of all; of each as it started last."""
    newest = [{started.query: started for started in sources.started_before(context, job)} for job in jobs]
    asked = (started for of_job in newest for name, started in of_job.items() if query in ("", name))
    return lockstep.varying(name for started in asked for name in started.varies)
