"""Questions about jobs: their numbers, batches, logs, operators and plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.experiments import BatchRow, Series
from pipelines.domain.home_leases import LeaseSeen
from pipelines.domain.jobs import JobDetail, JobSummary, Run
from pipelines.domain.logs import LogChunk, LogLevel, LogSearch
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import QueryPlan
from pipelines.domain.query_figures import QueryNow
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import RetainedBatch
from pipelines.verbs.forget import JOB
from pipelines.verbs.listing import Listed, ListedByTime, Sorted
from pipelines.verbs.reads import Reads
from pipelines.verbs.rows import Filter, Rows
from pipelines.verbs.verb import Http, Question, named, option

POINTS = "At most this many points."
MOST_POINTS = 10_000


@dataclass(frozen=True)
class ListJobs(Listed, Question[Sequence[JobSummary]]):
    """List all jobs, worst first. Those that failed come first, then those that lag, then the others by name; each has its newest
    numbers."""

    state: RunState | None = option("Only those whose newest run is so.", None, filters=Filter("state"))
    parent: str = option("Only forks of this job.", "", metavar="JOB", filters=Filter("job.origin.job"))

    call, topic = "jobs", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs")
    command = "list"
    rows = Rows.of(
        "job.name",
        *(
            "state",
            "lag_ms",
            "input_rate",
            "processed_rate",
            "batch_ms_p50",
            "batch_ms_p99",
            "state_rows",
            "state_bytes",
            "checkpoint_bytes",
        ),
        *("last_progress_ms", "savepoints", "last_savepoint_ms", "restarts"),
        name="job.name",
        created_ms="job.created_ms",
    )


@dataclass(frozen=True)
class ShowJob(Question[JobDetail]):
    """Show a job. The answer has its numbers, the queries of its newest run, and its runs, newest first."""

    job: str = named(JOB)

    call, topic = "job", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}")
    within = "show"
    refuses = (NotFound,)


@dataclass(frozen=True)
class ListRuns(ListedByTime, Question[Sequence[Run]]):
    """List a job's runs, newest first. A job that restarts for years has many: ask for a page of them."""

    job: str = named(JOB)
    state: RunState | None = option("Only those that stand so.", None, filters=Filter("state"))
    version: str = option("Only those of this version.", "", metavar="VERSION", filters=Filter("version"))

    call, topic = "runs", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/runs")
    command = "runs"
    refuses = (NotFound,)
    rows = Rows.of("id", "created_ms", "started_ms", "ended_ms", "state", "version")


@dataclass(frozen=True)
class ShowLease(Question[LeaseSeen | None]):
    """Show who has the lease of a job's checkpoints at its home. It is read there now; `null` for a job whose bytes are in the workspace,
    and before its first driver took one."""

    job: str = named(JOB)

    call, topic = "lease", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/lease")
    within = "show"
    refuses = (NotFound, Unavailable, Unsupported)


@dataclass(frozen=True)
class ReadLog(Question[LogChunk]):
    """Read a piece of the driver's log. To follow it, ask again with `offset` = the answer's `next_offset`. Of a log that has become very
    long only its newest part is kept: from the answer's `begin` on."""

    job: str = named(JOB)
    run: str = option("Id of a run; the newest one if empty.", "")
    offset: int = option("First byte; a negative one counts from the end.", -20_000)
    limit: int = option("At most this many bytes.", 200_000, least=1, most=5_000_000)

    call, topic = "logs", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/logs")
    within = "logs"
    refuses = (NotFound, Unavailable)


@dataclass(frozen=True)
class SearchLog(Question[LogSearch]):
    """Search the driver's log. An entry is a line with the stack trace below it. Every filter that is given must fit; the answer has the
    newest entries that do, the very first one, and how many errors and warnings there are."""

    job: str = named(JOB)
    run: str = option("Id of a run; the newest one if empty.", "", metavar="RUN")
    text: str = option("Words that occur in the entry, as they stand.", "")
    level: LogLevel = option("Of this level or worse; all for `other`.", LogLevel.OTHER)
    from_ms: int | None = option("Not before this time.", None, flag="--since", metavar="TIME", reads=Reads.MOMENT)
    to_ms: int | None = option("Not after this time.", None, flag="--until", metavar="TIME", reads=Reads.MOMENT)
    offset: int = option("Only entries from this byte of the log on: to follow it, the answer's `size`.", 0, least=0)
    limit: int = option("At most this many, the newest.", 200, least=1, most=5_000)

    call, topic = "search_log", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/logs/search")
    command = "search-log"
    refuses = (NotFound, Unavailable)


@dataclass(frozen=True)
class ListRetained(Question[Sequence[RetainedBatch]]):
    """List the batches a savepoint can be taken of. These are the committed batches that Spark still keeps in the job's checkpoint, oldest
    first."""

    job: str = named(JOB)

    call, topic = "retained", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/retained")
    within = "batches --retained"
    refuses = (NotFound, Corrupt, Unsupported, Unavailable)


@dataclass(frozen=True)
class ListBatches(Sorted, Question[Sequence[BatchRow]]):
    """List a job's latest batches. Each has its durations by phase, its rows and source offsets; the newest comes first. Where there may be
    more, the header `Link` (`rel="next"`) says where they are."""

    job: str = named(JOB)
    limit: int = option("At most this many, the first ones of its order.", 100, least=1, most=10_000)
    to_ms: int | None = option("Only those that had ended by then.", None, flag="--until", metavar="TIME", reads=Reads.MOMENT)
    before: str = option("Only what comes after the place that the last list ended with.", "", metavar="PLACE")

    call, topic = "batches", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/batches")
    within = "batches"
    refuses = (NotFound,)
    pages_by = "before"
    rows = Rows.of("cursor", "at_ms", "batch_ms", "input_rows")


@dataclass(frozen=True)
class ShowSeries(Question[Series]):
    """Show a job's progress over time. The answer is columns of equal length, by the clock, cut down to at most `points` points."""

    job: str = named(JOB)
    from_ms: int = option("Begin, epoch ms.")
    to_ms: int = option("End, epoch ms.")
    points: int = option(POINTS, 600, least=1, most=MOST_POINTS)

    call, topic = "series", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/series")
    refuses = (NotFound,)


@dataclass(frozen=True)
class ShowEventSeries(Question[Series]):
    """Show a job's progress over event time. The column `t` is each batch's greatest event time, so that two jobs can be laid over each
    other."""

    job: str = named(JOB)
    points: int = option(POINTS, 600, least=1, most=MOST_POINTS)

    call, topic = "event_series", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/event-series")
    refuses = (NotFound,)


@dataclass(frozen=True)
class ListOperators(Question[Sequence[QueryOperators]]):
    """Show a job's sources, operators and sinks. The answer has the sources, stateful operators and sink of each query at its newest batch,
    with offsets and backlog, rows and bytes of state."""

    job: str = named(JOB)

    call, topic = "operators", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/operators")
    within = "operators"
    command = "operators"
    refuses = (NotFound,)


@dataclass(frozen=True)
class ListQueries(Question[Sequence[QueryNow]]):
    """List the queries of all jobs. Each has the numbers of its newest batch (rates, lags, state), and of that its stateful operators and
    sources; a job has at most 50 queries here, a query 50 of both."""

    call, topic = "queries", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/queries")


@dataclass(frozen=True)
class ListPlans(Question[Sequence[QueryPlan]]):
    """Show Spark's plan of each query. It is the executed plan of one of the last batches, as a graph with its SQL metrics; before the
    first batch with rows there is none."""

    job: str = named(JOB)
    query: str = option("Only of this query.", "", metavar="QUERY")

    call, topic = "plan", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/plan")
    within = "plan"
    command = "plan"
    refuses = (NotFound, Corrupt, Unsupported)
