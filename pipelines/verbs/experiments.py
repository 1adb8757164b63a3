"""Questions about experiments, versions and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.differences import Differences
from pipelines.domain.errors import Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.experiments import Comparison, Experiment, Tree
from pipelines.domain.intervals import Interval
from pipelines.domain.versions import Version
from pipelines.verbs.listing import Listed
from pipelines.verbs.reads import Reads
from pipelines.verbs.revision import AGAIN
from pipelines.verbs.rows import Filter, Rows
from pipelines.verbs.verb import Http, Question, argument, named, option

ONE, OTHER = "Name of a job.", "Name of another job."
POINT = "A savepoint, a job (its present checkpoint), a run or a version."


@dataclass(frozen=True)
class ListExperiments(Listed, Question[Sequence[Experiment]]):
    """List experiments, newest first."""

    job: str = option("Only those with this job.", "", metavar="JOB", filters=Filter("jobs"))
    savepoint: str = option("Only those of this savepoint.", "", metavar="SAVEPOINT", filters=Filter("savepoint"))

    call, topic = "experiments", "experiments"
    role = Role.VIEWER
    http = Http("GET", "/experiments")
    command = "experiments"
    rows = Rows.of("id", "created_ms", "name", "savepoint")


@dataclass(frozen=True)
class ShowExperiment(Question[Experiment]):
    """Show an experiment. The answer has its savepoint, its jobs and what was decided."""

    experiment: str = named("Id of an experiment.")

    call, topic = "experiment", "experiments"
    role = Role.VIEWER
    http = Http("GET", "/experiments/{experiment}")
    refuses = (NotFound,)

    def words(self) -> Sequence[str]:
        return "experiments", "--json"


@dataclass(frozen=True)
class Compare(Question[Comparison]):
    """Compare two jobs' outputs. They are compared row for row, up to the event time that both reached: how many rows are equal, only in A,
    only in B or changed, with examples. Where `keys` is empty, they are found from the columns; where `query` is, it is the first that both
    have."""

    a: str = argument(ONE)
    b: str = argument(OTHER)
    query: str = option("Query whose output is compared; the first that both have if not given.", "")
    keys: tuple[str, ...] = option(f"A column that names a row; {AGAIN}. Found if not given.", (), flag="--key", metavar="COLUMN")
    examples: int = option("At most this many rows of each kind.", 20, least=0)

    call, topic = "compare", "experiments"
    role = Role.VIEWER
    http = Http("POST", "/compare")
    within = "compare"
    refuses = (NotFound, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)


@dataclass(frozen=True)
class ShowIntervals(Question[Sequence[Interval]]):
    """Compare two jobs' metrics. It says how far B's batch time, rate and state, and what both observe (`df.observe`), are from A's on the
    same events: medians, the difference with its 95 % interval, and both in words."""

    a: str = option(ONE)
    b: str = option(OTHER)
    query: str = option("A query of both; the first that both have if empty.", "")

    call, topic = "intervals", "experiments"
    role = Role.VIEWER
    http = Http("GET", "/intervals")
    refuses = (NotFound,)


@dataclass(frozen=True)
class ShowVersion(Question[Version]):
    """Show a version. The answer has its script, code, arguments, Spark confs, master and runtime."""

    version: str = named("Id of a version.")

    call, topic = "version", "versions"
    role = Role.VIEWER
    http = Http("GET", "/versions/{version}")
    within = "versions"
    refuses = (NotFound, Corrupt)


@dataclass(frozen=True)
class ShowTree(Question[Tree]):
    """Show the tree of versions. The answer has all jobs with their runs, all savepoints, and which job began from which savepoint."""

    call, topic = "tree", "versions"
    role = Role.VIEWER
    http = Http("GET", "/tree")
    within = "versions"


@dataclass(frozen=True)
class Diff(Question[Differences]):
    """Show what differs between two points. Each is a savepoint, job, run or version; compared are code, arguments, confs, runtime, source
    offsets, watermarks, state and sinks."""

    a: str = argument(POINT, reads=Reads.SAVEPOINT)
    b: str = argument("Another point.", reads=Reads.SAVEPOINT)

    call, topic = "differences", "versions"
    role = Role.VIEWER
    http = Http("GET", "/differences")
    command = "diff"
    refuses = (NotFound, Corrupt, Unsupported, Unavailable)
