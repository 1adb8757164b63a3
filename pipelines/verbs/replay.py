"""`replay`: changed code over what a job read between two savepoints, compared with what the job itself made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, Corrupt, Different, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.replays import Outcome, Replay
from pipelines.domain.restores import RestorePlan
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.listing import Listed
from pipelines.verbs.reads import Reads
from pipelines.verbs.revision import Revision
from pipelines.verbs.rows import Filter, Rows
from pipelines.verbs.verb import Change, Http, Kind, Question, Works, argument, named, option

OUTSIDE = (
    "Run it although its queries write elsewhere than to files (foreachBatch, Kafka, tables): its code writes to a place of its own, and "
    "only its state is compared."
)


@dataclass(frozen=True)
class ReplayPlan:
    """What a replay will do."""

    job: JobName
    """Whose batches are replayed."""
    began: Mapping[QueryName, int]
    until: Mapping[QueryName, int]
    compared: tuple[str, ...]
    """In words: outputs and tables of state that are compared in the end."""
    not_compared: tuple[str, ...]
    """Outputs that cannot be compared, with why."""
    keep: bool
    restore: RestorePlan
    """Of the fork that runs it."""


@dataclass(frozen=True, kw_only=True)
class RunReplay(Change[Replay, ReplayPlan], Revision):
    """Run changed code over what a job read between two savepoints. It reads the same input in the same batches, in a fork of the first
    savepoint with an output of its own, up to the second; then the rows that it wrote, and its state, are compared with the job's own. The
    fork is removed where they are equal."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)
    end: str = argument("A later savepoint of the same job.", reads=Reads.SAVEPOINT)
    keep: bool = option("Keep the fork, whatever comes of it.", False, flag="--keep")
    writes_outside: bool = option(OUTSIDE, False, flag="--writes-outside")

    call, topic = "replay", "experiments"
    role = Role.AUTHOR
    http = Http("POST", "/savepoints/{savepoint}/replay", 202)
    command = "replay"
    shell = "Prints what is equal and what not. Exit code 0 where all is equal, 12 where something differs, 1 where the code failed."
    refuses = (NotFound, Conflict, Incompatible, Corrupt, Unsupported, Unavailable, Different)
    follows = True
    kinds = {"replay": Kind("Replaying", "Replayed", makes=True)}

    def works_as(self, plan: ReplayPlan) -> Works:
        return Works("replay", plan.job, plan.restore.savepoint)

    def result(self, answer: Replay) -> str:
        return answer.id


@dataclass(frozen=True)
class ListReplays(Listed, Question[Sequence[Replay]]):
    """List replays, newest first."""

    job: str = option("Only those of this job's batches.", "", metavar="JOB", filters=Filter("job"))
    outcome: Outcome | None = option("Only those that came to this.", None, filters=Filter("outcome"))
    savepoint: str = option("Only those from this savepoint on.", "", metavar="SAVEPOINT", filters=Filter("savepoint"))

    call, topic = "replays", "experiments"
    role = Role.VIEWER
    http = Http("GET", "/replays")
    within = "replays"
    rows = Rows.of("id", "created_ms", "job", "outcome", "took_ms")


@dataclass(frozen=True)
class ShowReplay(Question[Replay]):
    """Show a replay. The answer has its savepoints, and of each output and each table of state how many rows are equal, with examples."""

    replay: str = named("Id of a replay.")

    call, topic = "show_replay", "experiments"
    role = Role.VIEWER
    http = Http("GET", "/replays/{replay}")
    refuses = (NotFound, Corrupt)
    within = "replays"
