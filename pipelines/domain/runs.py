"""A run: one driver process executing one version. What the driver is told, and what it leaves behind.

A run's folder holds `run.json` (a `RunSpec`, written by the workspace before the start), `process.json` (a `processes.Process`, by the
supervisor), `held.json` (a `Held`, by the supervisor, of a driver with limits), and what the driver writes: `installed.json` (an
`Installed`), and, growing, `queries.jsonl` (a `QueryStarted` a line), `progress.jsonl` (Spark's own progress JSON, one event a line),
`idle.jsonl` (`{at_ms, query_id}` a line: the query had no data left), `plans/` (a `QueryPlan` a query), `events.jsonl` (a `DriverEvent` a
line), `driver.log` (stdout and stderr) and, last, `exit.json` (an `Exit`). After a failure the supervisor adds `restart.json` (a
`RestartDecision`). A run that is watched has a `probation.json` (a `Probation`), one that somebody began on kept state an `edge.json` (an
`Edge`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pipelines.domain.bounds import Count, Long, Moment
from pipelines.domain.ids import QueryName
from pipelines.domain.triggers import Trigger

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

LEAD = ".lead"
"""Beside the checkpoints of a run that follows another: `<query>/<batch>` is an entry of its leader's offset log that waits."""


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
    varies: tuple[str, ...] = ()
    """What of its plan depends on the clock or on chance (`rand()`); not what its Python functions do."""
    sign_ins: tuple[Mapping[str, str], ...] = ()
    """How each of `sources` signs in to its Kafka (`kafka_sign_ins.noted`), no secret but by reference; nothing where none does."""
    removals: tuple[str, ...] = ()
    """What each of `sources` does where a commit of its Delta table removes rows (`delta.Removals`), empty for any other source; nothing
    where all are empty, and of runs before it was recorded."""

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


EXIT_STATES = {"stopped": RunState.STOPPED, "finished": RunState.FINISHED, "failed": RunState.FAILED, "killed": RunState.FAILED}
