"""Experiments (forks of one savepoint that are compared), comparisons of outputs, and the tree of versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.domain.bounds import Moment
from pipelines.domain.decisions import Decision
from pipelines.domain.ids import ExperimentId, JobName, SavepointId, VersionId
from pipelines.domain.jobs import JobSummary, Run
from pipelines.domain.observed import Observed, ObservedSeries
from pipelines.domain.operators import OperatorSeries
from pipelines.domain.savepoints import Reason
from pipelines.domain.sources import BacklogSeries


@dataclass(frozen=True)
class Experiment:
    """Jobs that began from one savepoint and are looked at side by side (`experiments/<id>.json`)."""

    id: ExperimentId
    name: str
    savepoint: SavepointId
    jobs: tuple[JobName, ...]
    created_ms: Moment
    decisions: tuple[Decision, ...] = ()
    """What was decided about its variants, oldest first."""

    def decided(self, job: str) -> Decision | None:
        """What was decided about `job`, None where nothing was."""
        return next((decision for decision in self.decisions if decision.job == job), None)


def decision_of(experiments: Sequence[Experiment], job: str) -> tuple[Experiment, Decision] | None:
    """The experiment that decided about `job`, and what; None where none did."""
    return next(((experiment, decision) for experiment in experiments if (decision := experiment.decided(job))), None)


@dataclass(frozen=True)
class Series:
    """A job's (or query's) progress over time, cut down to at most the points asked for: columns of equal length.

    `t` is epoch ms of the batch's end (by clock) or of its greatest event time (over event time). The other columns: batch_id,
    batch_ms, input_rows, input_rate, processed_rate, add_batch_ms, get_batch_ms, latest_offset_ms, planning_ms, wal_commit_ms,
    commit_offsets_ms, commit_batch_ms, watermark_ms, event_time_max_ms, event_lag_ms, late_rows, state_rows, state_bytes,
    checkpoint_bytes, and its parts: checkpoint_state_bytes, checkpoint_log_bytes, checkpoint_source_bytes.
    """

    job: JobName
    columns: Mapping[str, Sequence[float | None]]
    operators: tuple[OperatorSeries, ...] = ()
    """A series for each stateful operator of each query, at the same batches; empty where Spark told of none."""
    backlog: tuple[BacklogSeries, ...] = ()
    """A series for each source and unit, where sources say what they have not read yet."""
    observed: tuple[ObservedSeries, ...] = ()
    """A series for each number that the job observed (`df.observe`), with points of its own: peaks of each survive."""


@dataclass(frozen=True)
class BatchRow:
    """One batch in the list of batches: its progress, with the source offsets as Spark's JSON."""

    query: str
    batch: int
    at_ms: int
    batch_ms: float
    input_rows: int | None
    state_rows: int | None
    watermark_ms: int | None
    late_rows: int
    phases: Mapping[str, float]
    sources: str
    """JSON list of {description, startOffset, endOffset, latestOffset where the source says it, numInputRows}."""
    observed: tuple[Observed, ...] = ()
    """What the job says of it by `df.observe`."""

    @property
    def cursor(self) -> str:
        """Its place among the batches of its job, for `ListBatches.before`."""
        return f"{self.at_ms}-{self.batch}-{self.query}"


@dataclass(frozen=True)
class OutputOverTime:
    """Sums of a measure of A's and B's output per point of event time."""

    time_column: str
    t: tuple[float, ...]
    a: Mapping[str, tuple[float | None, ...]]
    """Measure -> sums, as long as `t`; None where that side has no row."""
    b: Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class Parting:
    """The first row by event time that the outputs do not share: the rows of both sides under one key, or that of one side."""

    at_ms: float
    """Event time of the row, in the column that `time_column` names."""
    time_column: str
    equal_until_ms: float | None
    """The greatest event time before it: up to there the outputs are equal. None where it is the first."""
    kind: str
    """`changed`, `only_a` or `only_b`."""
    a: Mapping[str, Any] | None
    b: Mapping[str, Any] | None


@dataclass(frozen=True)
class LockStepped:
    """What can be said of two outputs whose batches read the same, so that each difference is the code's."""

    since: int
    """The first batch whose rows were compared by batch; earlier ones are the savepoint's, or cannot be told apart any more."""
    until: int
    """The newest batch that both have: rows of later ones are left out of the whole comparison."""
    first: int | None
    """The first batch whose rows part; None where none does."""
    keys: tuple[str, ...] = ()
    """The columns that name a row of that batch."""
    examples: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """The rows of that batch that part, as `Comparison.examples` has them."""


@dataclass(frozen=True)
class Comparison:
    """The outputs of two jobs, row for row, up to the event time (watermark) that both have reached.

    `keys` says which columns name a row; rows with one key and other values are *changed*. Without a key that is unique on both
    sides rows are compared whole, as a multiset, and nothing is *changed*.
    """

    a: JobName
    b: JobName
    query: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    rows_a: int
    rows_b: int
    equal: int
    only_a: int
    only_b: int
    changed: int
    until_ms: int | None
    """Event time up to which rows were compared; None where all were."""
    examples: Mapping[str, Sequence[Mapping[str, Any]]]
    """`only_a`, `only_b`: rows; `changed`: {key columns…, 'a.<col>', 'b.<col>' for each that differs}."""
    over_time: OutputOverTime | None
    note: str = ""
    parting: Parting | None = None
    """Where the outputs first part; None where they are equal, or no column holds a time."""
    lock_step: LockStepped | None = None
    """None where the two run freely: which events came into which batch may then be why they differ, as well as the code."""
    columns_apart: tuple[str, ...] = ()
    """Columns that one of them alone has, or that are of another type there."""
    uncut: bool = False
    """Whether they are in lock-step and were compared like jobs that run freely: the log of a sink cannot be cut to a batch of both."""
    varies: tuple[str, ...] = ()
    """Of two in lock-step: what of their code depends on the clock or on chance, and differs by itself."""

    @property
    def differs(self) -> bool:
        """Whether a row of one is not the other's."""
        return bool(self.changed or self.only_a or self.only_b)


@dataclass(frozen=True)
class Lane:
    """One job in the tree of versions."""

    job: JobName
    runs: tuple[Run, ...]
    """Oldest first."""
    origin_savepoint: SavepointId | None
    experiment: ExperimentId | None


@dataclass(frozen=True)
class Mark:
    """One savepoint in the tree."""

    id: SavepointId
    job: JobName
    version: VersionId
    at_ms: int
    batch: int
    bytes: int
    reason: Reason
    label: str
    batch_timestamp_ms: int
    batches: Mapping[str, int]
    """Query -> batch, of those that had begun."""


@dataclass(frozen=True)
class Tree:
    """All jobs, savepoints and forks, as the page of versions draws them."""

    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Health:
    """What the overview's key figures show."""

    jobs: int = 0
    running: int = 0
    failed: int = 0
    input_rate: float = 0.0
    worst_batch_ms_p99: float | None = None
    worst_batch_job: str = ""
    worst_lag_ms: float | None = None
    worst_lag_job: str = ""
    savepoints: int = 0
    savepoint_bytes: int = 0
    free_bytes: int | None = None
    """Of the disk that holds the workspace."""
    total_bytes: int | None = None
    t: tuple[float, ...] = field(default=())
    """Epoch ms of the small lines below, at most 60 points over the span asked for (15 minutes unless said)."""
    running_line: tuple[float | None, ...] = ()
    input_line: tuple[float | None, ...] = ()
    batch_line: tuple[float | None, ...] = ()
    lag_line: tuple[float | None, ...] = ()
    storage_line: tuple[float | None, ...] = ()

    def as_of(self, jobs: Sequence[JobSummary]) -> Health:
        """The figures that come from the jobs' summaries, as those are; savepoints and lines stay."""
        current = [job for job in jobs if job.state is not None and job.state.current]
        slowest = max((job for job in current if job.batch_ms_p99 is not None), key=lambda job: job.batch_ms_p99 or 0.0, default=None)
        latest = max((job for job in current if job.lag_ms is not None), key=lambda job: job.lag_ms or 0.0, default=None)
        return replace(
            self,
            jobs=len(jobs),
            running=sum(job.state is not None and job.state.up for job in jobs),
            failed=sum(job.state is not None and job.state.has_failed for job in jobs),
            input_rate=sum(job.input_rate or 0.0 for job in current),
            worst_batch_ms_p99=slowest.batch_ms_p99 if slowest else None,
            worst_batch_job=slowest.job.name if slowest else "",
            worst_lag_ms=latest.lag_ms if latest else None,
            worst_lag_job=latest.job.name if latest else "",
        )
