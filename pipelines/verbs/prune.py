"""`prune`: scheduled savepoints that are past what is kept are deleted."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Corrupt, NotFound, Unavailable
from pipelines.domain.retention import PrunePlan
from pipelines.verbs.verb import Change, Http, argument


@dataclass(frozen=True)
class Prune(Change[PrunePlan, PrunePlan]):
    """Delete scheduled savepoints that are past what is kept. One that somebody took, named or builds on never goes, nor the newest one,
    nor the newest proved one. The same happens by itself after each scheduled savepoint."""

    job: str = argument("Only those of this job; without one of all jobs.", "")

    call, topic = "prune", "savepoints"
    role = Role.OPERATOR
    http = Http("POST", "/savepoints/prune")
    command = "prune"
    refuses = (NotFound, Corrupt, Unavailable)
