"""`upgrade`: a job that runs goes on with changed code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from pipelines.domain.access import Role
from pipelines.domain.decisions import Step
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.operations import Operation
from pipelines.domain.restores import RestorePlan
from pipelines.verbs.forget import JOB
from pipelines.verbs.going_on import GoingOn
from pipelines.verbs.resume import UNCHECKED, Resume
from pipelines.verbs.verb import Change, Http, Kind, Works, named


@dataclass(frozen=True)
class UpgradePlan:
    """What upgrading a job will do, step by step."""

    job: JobName
    run: RunId
    """Its newest run."""
    replaces: VersionId
    """The version that it has run."""
    stops: bool
    """Whether the job runs and is stopped first, with a savepoint."""
    steps: tuple[Step, ...]
    restore: RestorePlan
    """Of the run that begins: its version, what is known of that on the state, and the way back from it."""


@dataclass(frozen=True)
class Upgrade(GoingOn, Change[Operation, UpgradePlan]):
    """Have a job go on with changed code, arguments or confs. One that runs is stopped for it, with a savepoint, once the code was checked
    against its state: what is refused by then leaves it untouched, and where the new run does not begin the job goes on as it was. One that
    does not run is resumed. The new code may be on probation: the job goes back by itself where it fails. The operation's result is the
    run's id."""

    job: str = named(JOB)

    call, topic = "upgrade", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/upgrade", 202)
    command, shell = "upgrade", "Waits, and prints its name and the new run's id. Confs given are added to those it had."
    refuses = (NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"upgrade": Kind("Upgrading", "Upgraded")}
    prints = "{0.job} {0.result}"

    @property
    def resume(self) -> Resume:
        """The same of a job that does not run."""
        return Resume(**{part.name: getattr(self, part.name) for part in fields(self)})

    def is_unchecked(self, plan: UpgradePlan) -> bool:
        """As of a resume; of a job that runs the savepoint that is taken first stands for its state."""
        return not plan.stops and self.resume.is_unchecked(plan.restore)

    def warns(self, plan: UpgradePlan) -> Sequence[str]:
        """As of a resume."""
        return [warning for warning in self.resume.warns(plan.restore) if warning != UNCHECKED or self.is_unchecked(plan)]

    def works_as(self, plan: UpgradePlan) -> Works:
        return Works("upgrade", plan.job, can_cancel=False)
