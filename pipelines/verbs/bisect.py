"""`bisect`: the first batch of a job that is wrong, between a savepoint that was right and one that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.bisections import Bisection, Over
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.texts import QUERY
from pipelines.verbs.forget import JOB
from pipelines.verbs.listing import Listed
from pipelines.verbs.reads import Reads
from pipelines.verbs.rows import Filter, Rows
from pipelines.verbs.verb import Change, Http, Kind, Question, Works, named, option

SQL = "One SELECT over the view 'output' ('state' with --over state): every row that it gives is wrong, none means that all is right."
SCRIPT = (
    "A Python script that judges instead. Its last argument is a folder with the query's data files in output/ (or state/, in Parquet), as "
    "of one batch. Exit code 0: right, 125: cannot say, 1 to 127: wrong, else the bisection ends. It names what is wrong by lines of JSON "
    "(an object for each key or row) in wrong.jsonl in that folder."
)


@dataclass(frozen=True)
class BisectPlan:
    """What a bisection will do."""

    job: JobName
    query: QueryName
    over: Over
    table: str
    good_batch: int
    bad_batch: int
    at_most: int
    """How many batches are judged at most, besides both ends."""
    ways: str
    """In words: where the rows as of a batch come from."""


@dataclass(frozen=True, kw_only=True)
class Bisect(Change[Bisection, BisectPlan]):
    """Find the first batch of a job that is wrong. Between a savepoint that is right and a later one that is wrong, batches are judged by
    your SQL or script, each time the one in the middle. Their rows come from the sink's log, from savepoints, from what Spark still keeps,
    or from a fork that runs the same batches again."""

    job: str = named(JOB)
    good: str = option("A savepoint of the job at which all was right.", metavar="SAVEPOINT", reads=Reads.SAVEPOINT)
    bad: str = option("A later one at which something is wrong.", metavar="SAVEPOINT", reads=Reads.SAVEPOINT)
    sql: str = option(SQL, "", text=QUERY)
    script: str = option(SCRIPT, "", metavar="FILE", reads=Reads.FILE)
    over: Over = option("What is judged.", Over.OUTPUT)
    query: str = option("The streaming query; the first that can be judged if not given.", "")
    operator: int | None = option("Id of the stateful operator.", None)
    store: str = option("The state store; of a join also left or right.", "")
    variable: str = option("The state variable of a transformWithState.", "")
    examples: int = option("At most this many wrong rows are kept.", 20, least=0, most=1_000)

    call, topic = "bisect", "experiments"
    role = Role.AUTHOR
    http = Http("POST", "/jobs/{job}/bisect", 202)
    command, shell = "bisect", "Prints the batch, what it read, and the wrong rows."
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"bisect": Kind("Bisecting", "Bisected", makes=True)}

    def works_as(self, plan: BisectPlan) -> Works:
        return Works("bisect", plan.job)

    def result(self, answer: Bisection) -> str:
        return answer.id


@dataclass(frozen=True)
class ListBisections(Listed, Question[Sequence[Bisection]]):
    """List bisections, newest first."""

    job: str = option("Only those of this job.", "", metavar="JOB", filters=Filter("job"))
    query: str = option("Only those of this query.", "", metavar="QUERY", filters=Filter("query"))

    call, topic = "bisections", "experiments"
    role = Role.VIEWER
    http = Http("GET", "/bisections")
    within = "bisections"
    rows = Rows.of("id", "created_ms", "job", "took_ms")


@dataclass(frozen=True)
class ShowBisection(Question[Bisection]):
    """Show a bisection. The answer has the first wrong batch, what it read, each batch that was judged, and the wrong rows."""

    bisection: str = named("Id of a bisection.")

    call, topic = "show_bisection", "experiments"
    role = Role.VIEWER
    http = Http("GET", "/bisections/{bisection}")
    refuses = (NotFound, Corrupt)
    within = "bisections"
