"""`rescale`: a job goes on with its state in another number of partitions."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.decisions import Step
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.operations import Operation
from pipelines.domain.restores import RestorePlan
from pipelines.domain.rewrites import MOST_PARTITIONS
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option


@dataclass(frozen=True)
class RescalePlan:
    """What rescaling a job will do, step by step."""

    job: JobName
    run: RunId
    """Its newest run."""
    partitions: int
    stops: bool
    """Whether the job runs and is stopped first, with a savepoint."""
    steps: tuple[Step, ...]
    restore: RestorePlan
    """Of the new checkpoint, and what becomes of its state."""


@dataclass(frozen=True)
class Rescale(Change[Operation, RescalePlan]):
    """Have a job go on with its state in another number of partitions. It is stopped with a savepoint, Spark rewrites a copy of its state,
    and the job is resumed from that. The savepoint and the state that it had stay; where the rewriting fails, the job goes on as it was.
    RocksDB only. The operation's result is the run's id."""

    job: str = named(JOB)
    partitions: int = option("How many partitions its state gets.", least=1, most=MOST_PARTITIONS)

    call, topic = "rescale", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/rescale", 202)
    command, shell = "rescale", "Waits, and prints its name and the new run's id."
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"rescale": Kind("Rescaling", "Rescaled")}
    prints = "{0.job} {0.result}"

    def works_as(self, plan: RescalePlan) -> Works:
        return Works("rescale", plan.job, can_cancel=False)
