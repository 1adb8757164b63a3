"""`try`: changed code runs one batch on a savepoint's state, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, SavepointId, VersionId
from pipelines.domain.migrations import MigrationPlan
from pipelines.domain.trials import Trial
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.migrating import Migrating
from pipelines.verbs.reads import Reads
from pipelines.verbs.revision import NEW_QUERY, Revision
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option


@dataclass(frozen=True)
class TrialPlan:
    """What a trial will run."""

    savepoint: SavepointId
    job: JobName
    version: VersionId
    migration: MigrationPlan | None = None
    """What is done with the copy's state first, where that is asked for."""


@dataclass(frozen=True)
class TryCode(Change[Trial, TrialPlan], Migrating, Revision):
    """Try changed code on a savepoint's state. Spark restores a copy of it in the sandbox and the code runs one batch of each query with
    every sink replaced: nothing is written, and the answer has the rows that the batch would write. What a fork would do with the state
    first (`migrate`, `drop`, `map`) is done with the copy; else the code is checked, and where the meaning of state changes the savepoint's
    own code runs the same batch, and the answer has a key with what it has in the savepoint and after the batch of either code."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)
    new_queries: tuple[str, ...] = option(NEW_QUERY, (), flag="--new-query", metavar="QUERY")

    call, topic = "try_code", "savepoints"
    role = Role.AUTHOR
    http = Http("POST", "/savepoints/{savepoint}/try", 200)
    command, shell = "try", "Exit code 6 where the code does not run."
    refuses = (NotFound, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)
    kinds = {"try": Kind("Trying code on", "Tried code on", outcome="{done} {about}: {result}")}

    def works_as(self, plan: TrialPlan) -> Works:
        return Works("try", plan.job, plan.savepoint)

    def result(self, answer: Trial) -> str:
        rows = sum(query.batch.output_rows for query in answer.queries)
        return "the code failed" if answer.failed else f"{rows:,} rows would be written"
