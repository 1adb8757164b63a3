"""`resume`: a job that does not run goes on."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.verbs.forget import JOB
from pipelines.verbs.migrating import Migrating
from pipelines.verbs.probation import OnProbation
from pipelines.verbs.reads import Reads
from pipelines.verbs.resources import Taking
from pipelines.verbs.revision import FORCE, NEW_QUERY, Revision
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option

PAST = (
    "Leave out the batch at which it failed, and go on after it: what that reads counts as read, and no row of it comes into the state. "
    "The point before is saved first."
)
RESUMING = Kind("Resuming", "Resumed", makes=True, about="{job} from {subject}")


@dataclass(frozen=True)
class Resume(Change[Run, RestorePlan], OnProbation, Migrating, Taking, Revision):
    """Resume a job that does not run. It begins from its own checkpoint, from a retained `batch` of it, after the batch at which it failed
    (`past_batch`), or from one of its savepoints, and keeps its query id. What is given besides makes a new version of it: an upgrade; an
    earlier `version` takes one back. The present point is saved before a step back, an upgrade, and before a batch is left out. Where its
    state is migrated, it goes on from a copy of that savepoint. Changed code may be on probation: the job goes back by itself where it
    fails."""

    job: str = named(JOB)
    from_savepoint: str = option(
        "Go on from this savepoint; from where it stopped if not given.", "", flag="--from", metavar="SAVEPOINT", reads=Reads.SAVEPOINT
    )
    batch: int | None = option("Go back to this batch, one that Spark still keeps; saves the present point first.", None, least=0)
    past_batch: bool = option(PAST, False, flag="--past-batch")
    version: str = option("Go on as this version, one that the job ran before; as the last one if not given.", "", metavar="VERSION")
    new_queries: tuple[str, ...] = option(NEW_QUERY, (), flag="--new-query", metavar="QUERY")
    force: bool = option(FORCE, False, flag="--force")

    call, topic = "resume", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/resume", 201)
    command, shell = "resume", "Prints its name and the new run's id. Confs given are added to those it had."
    refuses = (NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)
    kinds = {"resume": RESUMING}
    prints = "{0.job} {0.id}"

    def needs(self) -> Role:
        """Whoever changes what runs is its author; going on with what ran before takes an operator."""
        return Role.AUTHOR if self.is_revised or self.is_migrated else self.role

    def works_as(self, plan: RestorePlan) -> Works:
        return Works("resume", plan.job, plan.savepoint)

    def result(self, answer: Run) -> str:
        return answer.job
