"""`stop`: a job's run ends, at a batch boundary or at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, NotFound, Unavailable
from pipelines.domain.ids import JobName, OperationId, RunId
from pipelines.domain.operations import Operation
from pipelines.domain.texts import LABEL
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, Kind, Shell, Works, named, option

SAVED = "Whether to take a savepoint once it has stopped."


@dataclass(frozen=True)
class StopPlan:
    """What stopping a job will do."""

    job: JobName
    run: RunId
    at_once: bool
    savepoint: bool
    under_way: OperationId | None = None
    """The stop that is under way already; a cancel overtakes it, anything else changes nothing."""


@dataclass(frozen=True)
class Stop(Change[Operation, StopPlan]):
    """Stop a job at a batch boundary. A savepoint is taken then, unless told not to; `at_once` ends it in the middle of a batch and without
    one. The operation's result is the savepoint's id."""

    job: str = named(JOB)
    savepoint: bool = option(SAVED, True, flag="--savepoint/--no-savepoint")
    at_once: bool = option("Stop in the middle of a batch, without a savepoint.", False, shell=Shell.ABSENT)
    label: str = option("A note to find the savepoint by.", "", text=LABEL)

    call, topic = "stop", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/stop", 202)
    command, shell = "stop", "Waits, and prints its savepoint's path."
    refuses = (NotFound, Conflict, Unavailable)
    follows = True
    kinds = {
        "stop": Kind("Stopping", "Stopped", waits="at the next batch boundary"),
        "cancel": Kind("Cancelling", "Cancelled at once", waits="in the middle of its batch"),
    }

    def words(self) -> Sequence[str] | None:
        return ("cancel", self.job) if self.at_once else None

    def works_as(self, plan: StopPlan) -> Works:
        return Works("cancel" if plan.at_once else "stop", plan.job, can_cancel=False)
