"""Jobs, what is wanted of them, and their runs as seen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.domain.alert_rules import Rule
from pipelines.domain.bounds import Moment
from pipelines.domain.catching_up import CatchingUp
from pipelines.domain.edges import Edge
from pipelines.domain.findings import Finding
from pipelines.domain.holdings import Holdings
from pipelines.domain.ids import ExperimentId, JobName, OperationId, RunId, SavepointId, VersionId
from pipelines.domain.job_limits import JobLimits
from pipelines.domain.lockstep import Lead
from pipelines.domain.masters import Cluster
from pipelines.domain.migrations import Migration
from pipelines.domain.moved_sources import MovedSource
from pipelines.domain.observed import ObservedNow
from pipelines.domain.probations import Probation
from pipelines.domain.resources import Resources
from pipelines.domain.restart_strategies import RestartStrategy
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.schedules import Attempt, Schedule
from pipelines.domain.sources import Waiting
from pipelines.domain.triggers import Trigger


@dataclass(frozen=True)
class Origin:
    """Where a forked job came from."""

    savepoint: SavepointId
    job: JobName
    experiment: ExperimentId | None = None
    migration: Migration | None = None
    """How its state was rewritten for its code before it began; None where it was not."""
    moved: tuple[MovedSource, ...] = ()
    """Its sources that went on from elsewhere than the savepoint says."""


@dataclass(frozen=True)
class Job:
    """A named streaming application that lives through many versions (`jobs/<name>/job.json`)."""

    name: JobName
    created_ms: Moment
    origin: Origin | None = None
    attached: bool = False
    """Whether it runs elsewhere, under somebody else's care: we watch its checkpoint, and take savepoints and forks of it."""
    limits: JobLimits = field(default_factory=JobLimits)
    restarts: RestartStrategy = field(default_factory=RestartStrategy)
    resources: Resources = field(default_factory=Resources)
    """What its drivers may take of this machine, from their next start on."""
    schedule: Schedule = field(default_factory=Schedule)
    """When savepoints of it are taken by themselves, where that is not what the workspace says."""
    scheduled: Attempt | None = None
    """What came of the newest time of its schedule."""
    proved: Attempt | None = None
    """What came of the newest time at which a schedule had a savepoint of it proved."""
    began: Attempt | None = None
    """What came of the newest time at which a schedule had it begin again."""
    home: str = ""
    """Where new savepoints of it are kept: a URL, or `workspace`; empty for where the workspace keeps them."""
    place: str = ""
    """Its folder at a home in which its checkpoints and its output lie (`s3a://…`, `hdfs://…`, `/mnt/…`); empty for the workspace."""
    lead: Lead | None = None
    """Whom it follows in lock-step, for all its life; None for a job that plans its batches itself."""
    alerts: tuple[Rule, ...] = ()
    """Rules of its own; they stand before the workspace's of the same name."""


@dataclass(frozen=True)
class StopWanted:
    """A requested stop. `at_once` is a cancel: no batch boundary, no savepoint."""

    at_once: bool
    savepoint: bool
    operation: OperationId
    label: str = ""


@dataclass(frozen=True)
class Wanted:
    """The wanted state of a job (`jobs/<name>/wanted.json`, replaced whole): which run, and whether it should end."""

    run: RunId | None
    stop: StopWanted | None = None


@dataclass(frozen=True)
class Run:
    """One driver process executing one version, as seen."""

    id: RunId
    job: JobName
    version: VersionId
    state: RunState
    created_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    pid: int | None = None
    exit: Exit | None = None
    from_savepoint: SavepointId | None = None
    checkpoints: str = ""
    spark_version: str = ""
    ui_url: str = ""
    attempt: int = 0
    """Which restart in a row it is; 0 for a run that somebody began."""
    restart: RestartDecision | None = None
    """What becomes of the job after it, where it failed."""
    edge: Edge | None = None


@dataclass(frozen=True)
class JobSummary:
    """One row of the overview. Rates are rows a second, times ms, over the last ten minutes; None before the first progress."""

    job: Job
    state: RunState | None
    """State of the newest run; None for a job that never ran."""
    run: Run | None
    queries: int
    batch: int | None
    batch_ms_p50: float | None
    batch_ms_p99: float | None
    latency: tuple[float, ...]
    """Batch durations in ms for a small line, oldest first, at most 60."""
    input_rate: float | None
    processed_rate: float | None
    lag_ms: float | None
    """How far the newest event is behind the clock now: it grows while no batch ends. Idle or failed, it is as the last batch left it."""
    watermark_ms: int | None
    late_rows: int
    state_rows: int | None
    state_bytes: int | None
    checkpoint_bytes: int | None
    last_progress_ms: int | None
    savepoints: int
    last_savepoint_ms: int | None
    restarts: int
    recent_restarts: int = 0
    """Of the last hour those that nobody asked for, each after a failure."""
    checkpoint_bytes_before: int | None = None
    """A day ago; None where it was not measured then."""
    gap_ms: float | None = None
    """The usual time between two batches' begins, learnt from them; None before the second one."""
    trigger: Trigger | None = None
    """Of all queries of its newest run; None where they differ, or it is not known."""
    idle_since_ms: int | None = None
    """Since when all data is worked off, and the driver says so; None while there is work, or nobody says so."""
    findings: tuple[Finding, ...] = ()
    """What needs attention, most urgent first."""
    holdings: Holdings | None = None
    """What the sources of its newest savepoint still hold; None where they were not asked yet, or there is none."""
    backlog: tuple[Waiting, ...] = ()
    """What its sources have not read yet, an entry for each unit; empty where no source tells, or no batch of the last ten minutes does."""
    lag_change: float | None = None
    """By how many seconds the lag grows (shrinks, below zero) in a second, as the batches of the last ten minutes tell; 0 where that is
    nothing beside how it varies, None where too few tell, or it lags less than a minute."""
    catching_up: CatchingUp | None = None
    """How far it is behind and when it will be there; None for a job that is not behind, or comes no nearer. A fork has it at any pace."""
    observed: tuple[ObservedNow, ...] = ()
    """Numbers that it observed of the newest batch of each query (`df.observe`); none of a job that runs elsewhere."""
    batches_left: int | None = None
    """Of a job that ends at a batch of its leader's: of the query that has most before it, of those that had a batch; None for others."""

    @property
    def interval_ms(self) -> int | None:
        """The trigger's interval; None where it has none, or it is not known."""
        return self.trigger.interval_ms or None if self.trigger else None

    @property
    def usual_gap_ms(self) -> float | None:
        """The time between two batches' begins as it should be: the trigger's interval, learnt only where there is none."""
        return self.interval_ms or self.gap_ms

    @property
    def busy(self) -> float | None:
        """Batch time by the trigger's interval, beyond 1 where batches take longer. Without one by the usual time between two begins,
        at most 1: batches run back to back. None for a trigger whose batches always fill their time."""
        if self.batch_ms_p50 is None or not self.usual_gap_ms or (self.interval_ms and self.trigger and not self.trigger.idles):
            return None
        share = self.batch_ms_p50 / self.usual_gap_ms
        return share if self.interval_ms else min(1.0, share)


@dataclass(frozen=True)
class QuerySeen:
    """A streaming query of a job's newest run."""

    query: str
    query_id: str
    sink: str
    sink_path: str
    checkpoint: str
    ui_url: str
    trigger: Trigger | None = None
    sink_table: str = ""
    """As `QueryStarted.sink_table`."""
    sink_options: Mapping[str, str] | None = None
    """As `QueryStarted.sink_options`."""


@dataclass(frozen=True)
class JobDetail:
    """One job with its queries and runs, as its page shows it."""

    summary: JobSummary
    queries: tuple[QuerySeen, ...]
    runs: tuple[Run, ...]
    """Newest first."""
    batches: Mapping[str, int] = field(default_factory=dict)
    """The newest committed batch of each query that has one."""
    cluster: Cluster | None = None
    """Where the Spark of its newest run is; None before its first query starts."""
    probation: Probation | None = None
    """Of its newest run; None for a run that has none."""


@dataclass(frozen=True)
class Event:
    """Something that happened, newest ones first in lists: `kind` is dotted (`run.failed`, `savepoint.taken`, `sink.mended`)."""

    at_ms: Moment
    kind: str
    job: JobName | None
    subject: str
    """Id of the run, savepoint or experiment it is about."""
    message: str
    actor: str = ""
    """Who did it: `page`, `command`, `REST` (or who a call says it is by), `supervisor`, `driver`; empty where nobody said."""

    @property
    def cursor(self) -> str:
        """Its place among all events, for `ListEvents.before`: its time, and eight hex digits of the MD5 of its content."""
        content = "\x1f".join((self.kind, self.job or "", self.subject, self.message))
        return f"{self.at_ms}-{hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()[:8]}"
