"""`resume`: a job that does not run goes on, or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Refusal, Unavailable, Unsupported
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.verbs.forget import JOB
from pipelines.verbs.going_on import GoingOn
from pipelines.verbs.reads import Reads
from pipelines.verbs.revision import FORCE
from pipelines.verbs.stop import JOBS
from pipelines.verbs.verb import Change, Http, Kind, Works, argument, named, option

PAST = (
    "Leave out the batch at which it failed, and go on after it: what that reads counts as read, and no row of it comes into the state. "
    "The point before is saved first."
)
RESUMING = Kind("Resuming", "Resumed", makes=True, about="{job} from {subject}")
NAMED = 3
"""So many jobs of several are named, of more their number is said."""


UNCHECKED = "The code is not checked before it starts: no savepoint stands for the state that it goes on with."


@dataclass(frozen=True)
class Resume(GoingOn, Change[Run, RestorePlan]):
    """Resume a job that does not run. It begins from its own checkpoint, from a retained `batch` of it, after the batch at which it failed
    (`past_batch`), or from one of its savepoints, and keeps its query id. What is given besides makes a new version of it: an upgrade; an
    earlier `version` takes one back. The present point is saved before a step back, an upgrade, and before a batch is left out. Where its
    state is migrated, it goes on from a copy of that savepoint. Changed code may be on probation: the job goes back by itself where it
    fails."""

    job: str = named(JOB)
    from_savepoint: str = option(
        "Go on from this savepoint; from where it stopped if not given.", "", flag="--from", metavar="SAVEPOINT", reads=Reads.SAVEPOINT
    )
    batch: int | Mapping[str, int] | None = option(
        "Go back to this batch, one that Spark still keeps; saves the present point first. With several queries name the query, once for "
        "each; one that is not named stays at its newest.",
        None,
        metavar="[QUERY=]N",
        reads=Reads.BATCHES,
        least=0,
    )
    past_batch: bool = option(PAST, False, flag="--past-batch")

    call, topic = "resume", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/resume", 201)
    command, shell = "resume", "Prints its name and the new run's id. Confs given are added to those it had."
    refuses = (NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)
    kinds = {"resume": RESUMING}
    prints = "{0.job} {0.id}"

    def is_unchecked(self, plan: RestorePlan) -> bool:
        """Whether changed code, or what it is given, begins that nobody checks against the state, though that is asked for."""
        return self.is_revised and self.check and plan.judged is None and plan.verdict is None

    def warns(self, plan: RestorePlan) -> Sequence[str]:
        """That changed code is not checked; given confs, what the plan warns of: with state Spark passes over some of them."""
        return (*((UNCHECKED,) if self.is_unchecked(plan) else ()), *(plan.further_warnings if self.conf else ()))

    def works_as(self, plan: RestorePlan) -> Works:
        return Works("resume", plan.job, plan.savepoint)

    def result(self, answer: Run) -> str:
        return answer.job


@dataclass(frozen=True)
class ResumeOutcome:
    """The outcome of one job of several: its plan, or its refusal; both where what was planned is refused."""

    job: str
    plan: RestorePlan | None
    refusal: Refusal | None = None
    """The error that resuming that job alone raises."""
    run: Run | None = None
    """The run that began; None in a plan."""


@dataclass(frozen=True)
class JobsResume:
    """The outcomes of all jobs, in the order they were named, each once."""

    outcomes: tuple[ResumeOutcome, ...]


@dataclass(frozen=True)
class ResumeJobs(Change[JobsResume, JobsResume]):
    """Resume several jobs that do not run, one after the other, each from its own checkpoint with the version that it had. One that is
    refused, or fails to begin, says why and holds back no other."""

    jobs: tuple[str, ...] = argument(JOBS, metavar="JOB...")
    force: bool = option(FORCE, False, flag="--force")

    call, topic = "resume_jobs", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/resume")
    within = "resume"
    kinds = {"resume-jobs": Kind("Resuming", "Resumed", about="{subject}", outcome="{done} {result}")}

    def works_as(self, plan: JobsResume) -> Works:
        return Works("resume-jobs", "", _called([outcome.job for outcome in plan.outcomes if outcome.refusal is None]))

    def result(self, answer: JobsResume) -> str:
        begun = [outcome.job for outcome in answer.outcomes if outcome.run is not None]
        return _called(begun) if len(begun) == len(answer.outcomes) else f"{len(begun)} of {len(answer.outcomes)} jobs"


def _called(jobs: Sequence[str]) -> str:
    return ", ".join(jobs) if len(jobs) <= NAMED else f"{len(jobs):,} jobs"
