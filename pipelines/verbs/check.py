"""`check`: what will happen if changed code goes on from a savepoint, said before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, SavepointId, VersionId
from pipelines.domain.verdicts import Verdict
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.migrating import MAP
from pipelines.verbs.reads import Reads
from pipelines.verbs.revision import NEW_QUERY, Revision
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option


@dataclass(frozen=True)
class CheckPlan:
    """What a check will do."""

    savepoint: SavepointId
    job: JobName
    version: VersionId
    starts_spark: bool
    """Whether Spark has to plan: not where the verdict is known."""


@dataclass(frozen=True)
class Check(Change[Verdict, CheckPlan], Revision):
    """Check changed code against a savepoint's state. Spark plans both codes in the sandbox, on a linked copy, and runs nothing; the answer
    says for each operator whether its state means the same, and why not."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)
    new_queries: tuple[str, ...] = option(NEW_QUERY, (), flag="--new-query", metavar="QUERY")
    map: Mapping[str, str] | None = option(MAP, None, flag="--map", metavar="OLD=NEW", reads=Reads.PAIRS)

    call, topic = "check", "savepoints"
    role = Role.AUTHOR
    http = Http("POST", "/savepoints/{savepoint}/check", 200)
    command, shell = "check", "Exit code 6 where it cannot start."
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    kinds = {"check": Kind("Checking code against", "Checked code against", outcome="{done} {about}: {result}")}

    def works_as(self, plan: CheckPlan) -> Works | None:
        return Works("check", plan.job, plan.savepoint) if plan.starts_spark else None

    def result(self, answer: Verdict) -> str:
        return answer.outcome
