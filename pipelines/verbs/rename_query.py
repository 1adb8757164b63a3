"""`rename-query`: a query of a job that runs elsewhere gets the name that its script gives it."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, NotFound, Unavailable
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.jobs import Run
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, argument, named


@dataclass(frozen=True)
class RenamePlan:
    """What renaming a query will do."""

    job: JobName
    query: QueryName
    to: QueryName
    checkpoint: str
    """Which is watched on, under the new name."""
    savepoints: int
    """Those of the job, which all keep the old name."""


@dataclass(frozen=True)
class RenameQuery(Change[Run, RenamePlan]):
    """Rename a query of an attached job. A fork's code has to call its query so; savepoints that were taken before keep the old name, so
    take a new one. A job that runs here names its queries itself."""

    job: str = named(JOB)
    query: str = named("Name of its query.")
    to: str = argument("The name that its script gives the query.")

    call, topic = "rename_query", "jobs"
    role = Role.OPERATOR
    http = Http("PATCH", "/jobs/{job}/queries/{query}")
    command, shell = "rename-query", "Prints its name and a run's id."
    refuses = (NotFound, AlreadyExists, Conflict, Corrupt, Unavailable)
    prints = "{0.job} {0.id}"
