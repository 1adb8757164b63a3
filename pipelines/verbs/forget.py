"""`forget`: a job that does not run is removed."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, NotFound, Unavailable
from pipelines.domain.ids import JobName, RunId
from pipelines.verbs.verb import Change, Http, named

JOB = "Name of a job."


@dataclass(frozen=True)
class ForgetPlan:
    """What forgetting a job removes."""

    job: JobName
    runs: tuple[RunId, ...]
    folder: str
    """Its runs, checkpoints and output."""
    savepoints: int
    """Its savepoints, all of which stay."""


@dataclass(frozen=True)
class Forget(Change[None, ForgetPlan]):
    """Remove a job that does not run. Its runs, checkpoints and output go too; its savepoints stay. It is refused while a savepoint or a
    fork that has not begun needs its output (a file sink's history)."""

    job: str = named(JOB)

    call, topic = "forget", "jobs"
    role = Role.AUTHOR
    http = Http("DELETE", "/jobs/{job}", 204)
    command = "forget"
    refuses = (NotFound, Conflict, Unavailable)
