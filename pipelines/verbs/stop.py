"""`stop`: the run of a job, or of several, ends at a batch boundary or at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, NotFound, Refusal, Unavailable
from pipelines.domain.ids import JobName, OperationId, RunId
from pipelines.domain.operations import Operation
from pipelines.domain.texts import LABEL
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, Kind, Shell, Works, argument, named, option

JOBS = "Names of jobs."
SAVED = "Whether to take a savepoint once it has stopped."
AT_ONCE = "Stop in the middle of a batch, without a savepoint."
LABELLED = "A note to find the savepoint by."


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
    """Stop a job at a batch boundary. A savepoint is taken then, unless told not to. The operation's result is the savepoint's id."""

    job: str = named(JOB)
    savepoint: bool = option(SAVED, True, flag="--savepoint/--no-savepoint")
    at_once: bool = option(AT_ONCE, False, shell=Shell.ABSENT)
    label: str = option(LABELLED, "", text=LABEL)

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


@dataclass(frozen=True)
class StopOutcome:
    """The outcome of one job of several: its plan, or its refusal."""

    job: str
    plan: StopPlan | None
    refusal: Refusal | None = None
    """The error that stopping that job alone raises."""
    operation: Operation | None = None
    """The stop that was begun, whose result is the savepoint's id; None in a plan."""


@dataclass(frozen=True)
class JobsStop:
    """The outcomes of all jobs, in the order they were named, each once."""

    outcomes: tuple[StopOutcome, ...]


@dataclass(frozen=True)
class StopJobs(Change[JobsStop, JobsStop]):
    """Stop several jobs, each at its own next batch boundary. One that is refused (not found, not running) says why and holds back no
    other. All stops are begun at once; each is an operation, whose result is its savepoint's id."""

    jobs: tuple[str, ...] = argument(JOBS, metavar="JOB...")
    savepoint: bool = option("Whether to take a savepoint of each once it has stopped.", True, flag="--savepoint/--no-savepoint")
    at_once: bool = option(AT_ONCE, False, shell=Shell.ABSENT)
    label: str = option("A note to find the savepoints by.", "", text=LABEL)

    call, topic = "stop_jobs", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/stop")
    within = "stop"

    def words(self) -> Sequence[str] | None:
        return ("cancel", *self.jobs) if self.at_once else None
