"""`limits`: from when on a job needs attention."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.bounds import MOST
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.job_limits import MOST_RESTARTS, JobLimits
from pipelines.domain.jobs import Job
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, duration, named, option


@dataclass(frozen=True)
class LimitsPlan:
    """The limits of a job as they are, and as they will be."""

    job: JobName
    before: JobLimits
    after: JobLimits


@dataclass(frozen=True)
class SetLimits(Change[Job, LimitsPlan]):
    """Set from when on a job needs attention. What is not given stays; 'usual' (0 over REST) brings the usual limit back. Forks of the job
    begin with its limits."""

    job: str = named(JOB)
    quiet_ms: int | None = duration("Without a batch for longer it makes no progress.", "--no-batch")
    lag_ms: int | None = duration("Event-time lag from which it lags.", "--lag")
    starting_ms: int | None = duration("How long its driver may take to come up.", "--starting")
    unsaved_ms: int | None = duration("How long its state may be without a new savepoint.", "--no-savepoint")
    restarts: int | None = option("So many restarts in an hour are too many; 0 is the usual limit.", None, least=0, most=MOST_RESTARTS)
    growth_bytes: int | None = option(
        "By how many bytes its checkpoint may grow in a day; 0 is the usual limit.", None, flag="--growth", least=0, most=MOST,
    )  # fmt: skip

    call, topic = "set_limits", "jobs"
    role = Role.OPERATOR
    http = Http("PATCH", "/jobs/{job}/limits")
    command, shell = "limits", "Prints the job's name."
    refuses = (NotFound,)
    prints = "{0.name}"

    def given(self) -> JobLimits:
        """What is given, 0 for a limit that goes."""
        return JobLimits(self.quiet_ms, self.lag_ms, self.starting_ms, self.unsaved_ms, self.restarts, self.growth_bytes)
