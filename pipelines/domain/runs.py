"""A run: one driver process executing one version. What the driver is told, and what it leaves behind.

A run's folder holds `run.json` (a `RunSpec`, written by the workspace before the start), `process.json` (a `processes.Process`, by the
supervisor), `held.json` (a `Held`, by the supervisor, of a driver with limits), and what the driver writes: `installed.json` (an
`Installed`), and, growing, `queries.jsonl` (a `QueryStarted` a line), `progress.jsonl` (Spark's own progress JSON, one event a line),
`idle.jsonl` (`{at_ms, query_id}` a line: the query had no data left), `plans/` (a `QueryPlan` a query), `events.jsonl` (a `DriverEvent` a
line), `driver.log` (stdout and stderr) and, last, `exit.json` (an `Exit`). After a failure the supervisor adds `restart.json` (a
`RestartDecision`). A run that is watched has a `probation.json` (a `Probation`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pipelines.domain.bounds import Count, Format, Long, Moment, Took
from pipelines.domain.ids import JobName, QueryName, RunId, VersionId
from pipelines.domain.lockstep import Lead
from pipelines.domain.resources import ALL, Resources
from pipelines.domain.triggers import Trigger

SPEC_FILE = "run.json"
QUERIES_FILE = "queries.jsonl"
PROGRESS_FILE = "progress.jsonl"
IDLE_FILE = "idle.jsonl"
EVENTS_FILE = "events.jsonl"
LOG_FILE = "driver.log"
EXIT_FILE = "exit.json"
RESTART_FILE = "restart.json"
RUN_LOCK = ".driver.lock"
"""In the run's folder: locked by the process that executes it."""
LEASES = ".leases"
"""Beside the checkpoints of a run: a `<query>.lock` for each, locked by the JVM that works on it."""
SPEC_FORMAT = 1
ANY_TABLE = "*"
"""In `RunSpec.own_tables`: whatever folder its code says."""


class RunState(enum.StrEnum):
    """Where a run stands. `STARTING` until the driver's first query (or first second, for a script without one) is up."""

    WANTED = "wanted"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    WATCHED = "watched"
    """Of an attached job: it runs elsewhere, if it runs; nothing here starts or stops it."""
    FINISHED = "finished"
    FAILED = "failed"
    RESTARTING = "restarting"
    """It failed, and the supervisor begins the job's next run at the time that `Run.restart` says."""

    @property
    def has_failed(self) -> bool:
        """Whether it failed, restarted or not."""
        return self in (RunState.FAILED, RunState.RESTARTING)

    @property
    def goes_on(self) -> bool:
        """Whether the supervisor keeps the job going: a process runs, is about to, or follows one that failed."""
        return self.live or self is RunState.RESTARTING

    @property
    def live(self) -> bool:
        """Whether a process runs, or is about to."""
        return self in (RunState.WANTED, RunState.STARTING, RunState.RUNNING, RunState.STOPPING)

    @property
    def up(self) -> bool:
        """Whether it runs: what every count of running jobs counts."""
        return self in (RunState.RUNNING, RunState.STOPPING)

    @property
    def current(self) -> bool:
        """Whether its newest progress is of now: of a run that is live, or of one that is watched."""
        return self.live or self is RunState.WATCHED


@dataclass(frozen=True)
class RunSpec:
    """All a driver is told. Paths are absolute and local to the driver's machine, or URLs that its Spark can read."""

    format: Format
    run: RunId
    job: JobName
    version: VersionId
    script: str
    """Path of the frozen script."""
    args: tuple[str, ...]
    """Arguments with `{output}` already substituted."""
    conf: Mapping[str, str]
    master: str
    checkpoints: str
    """Directory in which every query gets `<query>/` as its checkpoint location."""
    output: str
    """The job's own output directory."""
    sink_logs: Mapping[str, str] = field(default_factory=dict)
    """Query -> directory with the `_spark_metadata` entries to carry into the query's file sink before it starts (a fork or a
    resume from a savepoint; gone once the sink has them)."""
    taken_paths: tuple[str, ...] = ()
    """Directories that other jobs' file sinks write to: a query that starts on one of them is refused."""
    created_ms: Moment = 0
    """When the run was asked for."""
    from_savepoint: str = ""
    """The savepoint whose state the run begins with; empty where it begins anew or goes on with its checkpoint."""
    expected: tuple[str, ...] = ()
    """Queries whose state the run continues (a fork, a resume, an upgrade): one that starts under another name would silently
    begin anew, and is refused unless it is in `new_queries`. Empty: nothing is expected, any query may start."""
    new_queries: tuple[str, ...] = ()
    rehearsal: str = ""
    """Directory of a rehearsal: every sink is replaced by one that writes below it, sources leave their files alone, and each
    query ends after its first batch. Empty for a run that is meant."""
    rehearsal_patience_s: Took = 60.0
    """How long a rehearsal waits for a first batch."""
    rehearsal_idle: tuple[str, ...] = ()
    """Queries that have nothing to run a batch with, and are not waited for."""
    code: str = ""
    """Directory that holds the script and the modules and files it needs; empty for a script that is alone."""
    outside: Mapping[str, str] = field(default_factory=dict)
    """Path -> SHA-256 of files that must be what they were."""
    locations: Mapping[str, str] = field(default_factory=dict)
    """Query -> the location (`QueryStarted.location`) that it had in runs before, so that it keeps its name whenever it starts."""
    warehouse: str = ""
    """The job's warehouse (`tables/`, `metastore/`, `tables.json`): where tables go that name no place. Empty: Spark's own."""
    attempt: Count = 0
    """Which restart in a row it is; 0 for a run that somebody began."""
    lead: Lead | None = None
    """Whose offsets its batches have; None for a run that plans its batches itself."""
    taken_topics: tuple[str, ...] = ()
    """Kafka topics that the parent of a fork writes to: a query that would write to one writes to a topic of its own."""
    own_tables: Mapping[str, str] = field(default_factory=dict)
    """Query of a fork -> the folder of the Delta table that it must not write to, or `ANY_TABLE` where it is given one of its own
    whatever its code says: its parent's, or that of the parent of that. Of an Iceberg table its folder: there it writes to a branch."""
    resources: Resources = ALL
    """What its driver may take of this machine."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> RunSpec:
        return RunSpec(
            format=raw["format"],
            run=RunId(raw["run"]),
            job=JobName(raw["job"]),
            version=VersionId(raw["version"]),
            script=raw["script"],
            args=tuple(raw["args"]),
            conf=dict(raw["conf"]),
            master=raw["master"],
            checkpoints=raw["checkpoints"],
            output=raw["output"],
            sink_logs=dict(raw.get("sink_logs", {})),
            taken_paths=tuple(raw.get("taken_paths", ())),
            created_ms=raw.get("created_ms", 0),
            from_savepoint=raw.get("from_savepoint", ""),
            expected=tuple(raw.get("expected", ())),
            new_queries=tuple(raw.get("new_queries", ())),
            rehearsal=raw.get("rehearsal", ""),
            rehearsal_patience_s=raw.get("rehearsal_patience_s", 60.0),
            rehearsal_idle=tuple(raw.get("rehearsal_idle", ())),
            code=raw.get("code", ""),
            outside=dict(raw.get("outside", {})),
            locations=dict(raw.get("locations", {})),
            warehouse=raw.get("warehouse", ""),
            attempt=raw.get("attempt", 0),
            lead=Lead.from_json(raw.get("lead")),
            taken_topics=tuple(raw.get("taken_topics", ())),
            own_tables=dict(raw.get("own_tables", {})),
            resources=Resources(**raw.get("resources", {})),
        )


@dataclass(frozen=True)
class QueryStarted:
    """One line of `queries.jsonl`: a streaming query of the run came up."""

    query: QueryName
    query_id: str
    run_id: str
    """Spark's run id of this start, not Tidemark's."""
    checkpoint: str
    sink: str
    """Sink format as the script gave it (`parquet`, `console`, `memory`, `noop`, `foreachBatch`, `foreach`, …)."""
    sink_path: str
    """Output directory of a file sink, place of an Iceberg table, empty for others."""
    ui_url: str
    spark_version: str
    at_ms: Moment
    sink_table: str = ""
    """Table of the sink (Delta's path where it has no name, Iceberg's with its branch) or topic (`*`: each row names it); or empty."""
    sources: tuple[str, ...] = ()
    """Spark's names of its sources."""
    location: str = ""
    """The checkpoint location that the script gave it, with `{output}` for the job's own directory; empty where it gave none."""
    trigger: Trigger | None = None
    """None where it is not known: of a query that runs elsewhere, and of runs before it was recorded."""
    brokers: tuple[str, ...] = ()
    """`host:port,…` of the Kafka that each of `sources` reads (`SASL_SSL://host:port` where it takes a sign-in), empty for any other
    source and for one that may pass over rows that are gone (`failOnDataLoss` false); nothing where all are empty."""
    tables: tuple[str, ...] = ()
    """The folder or URL of the Delta or Iceberg table that each of `sources` reads, empty for any other source and for one that may pass
    over what is gone (`failOnDataLoss` false) or reads changes of rows; nothing where all are empty."""
    operators: Count = 0
    """Stateful operators that its checkpoint had when it was attached; 0 for a query of a driver of ours, whose Spark tells of them."""
    sink_options: Mapping[str, str] | None = None
    """How its CSV files are written (`csv_options.NAMES`); None for other sinks, and where it is not known."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class DriverEvent:
    """One line of `events.jsonl`: something the driver did that people should know (a checkpoint location replaced, a sink mended)."""

    kind: str
    message: str
    query: str
    at_ms: Moment

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Exit:
    """How a run ended: `reason` is one of stopped, finished, failed, killed."""

    reason: Literal["stopped", "finished", "failed", "killed"]
    code: Long | None
    error_class: str
    """Spark's error class (`STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE`) or the Python exception's name; empty without an error."""
    message: str
    at_ms: Moment
    query: str = ""
    """The query whose failure it was; empty where no query failed."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Exit:
        return Exit(raw["reason"], raw["code"], raw["error_class"], raw["message"], raw["at_ms"], raw.get("query", ""))


EXIT_STATES = {"stopped": RunState.STOPPED, "finished": RunState.FINISHED, "failed": RunState.FAILED, "killed": RunState.FAILED}
