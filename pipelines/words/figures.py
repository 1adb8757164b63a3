"""The figures of a job that Prometheus scrapes and alerts have thresholds of: one name, one meaning, one value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pipelines.domain.alert_rules import METRIC, OBSERVED, Condition
from pipelines.domain.holdings import Usable
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState
from pipelines.words.backlog import UNITS

T = TypeVar("T")


@dataclass(frozen=True)
class Figure(Generic[T]):
    """A gauge: its name without the prefix, what it says, and its value; None where that is not known."""

    name: str
    says: str
    of: Callable[[T], float | None]
    lasts: bool = False
    """Whether it goes on meaning something once somebody ended the job."""


@dataclass(frozen=True)
class Seen:
    """A job as its alerts see it."""

    job: JobSummary
    now_ms: float
    best_before_ms: float | None = None
    """Of its newest savepoint: its date, or when its sources let go of what it needs; infinite where it has no end, None where nobody
    knows."""
    late_before: int = 0
    """Late rows as they were ten minutes ago."""
    grown: float | None = None
    """By how much the figure of a rule of growth is more than it was."""


def _up(job: JobSummary) -> float | None:
    return None if job.state is RunState.WATCHED else float(job.state is not None and job.state.up)


def _usable(job: JobSummary) -> float | None:
    verdict = job.holdings.usable if job.holdings else Usable.UNKNOWN
    return None if verdict is Usable.UNKNOWN else float(verdict is Usable.YES)


def seconds(ms: float | None) -> float | None:
    """Of ms; None of what is not known."""
    return None if ms is None else ms / 1_000


OF_JOBS: tuple[Figure[JobSummary], ...] = (
    Figure("job_up", "1 while the job's driver runs, else 0; not known of a job that runs elsewhere", _up, lasts=True),
    Figure("job_queries", "Streaming queries of the newest run", lambda job: job.queries),
    Figure("job_batch", "Newest batch that was committed", lambda job: job.batch),
    Figure("job_batch_seconds_p50", "Median duration of a batch, last ten minutes", lambda job: seconds(job.batch_ms_p50)),
    Figure("job_batch_seconds_p99", "99th percentile of batch durations, last ten minutes", lambda job: seconds(job.batch_ms_p99)),
    Figure("job_busy_ratio", "Batch time divided by the trigger's interval; beyond 1 the job cannot keep up", lambda job: job.busy),
    Figure(
        "job_input_rows_per_second",
        "Rows a second that all sources read, newest batch of the last ten minutes",
        lambda job: job.input_rate,
    ),
    Figure(
        "job_processed_rows_per_second",
        "Rows a second that Spark worked off, newest batch of the last ten minutes",
        lambda job: job.processed_rate,
    ),
    Figure("job_event_time_lag_seconds", "How far the newest event is behind the clock", lambda job: seconds(job.lag_ms)),
    Figure("job_watermark_timestamp_seconds", "The watermark, Unix time", lambda job: seconds(job.watermark_ms)),
    Figure("job_late_rows", "Rows that came after the watermark and were dropped, newest run", lambda job: job.late_rows),
    Figure("job_state_rows", "Rows of state", lambda job: job.state_rows),
    Figure("job_state_bytes", "Bytes of state as Spark reports them", lambda job: job.state_bytes),
    Figure("job_checkpoint_bytes", "Bytes of the checkpoint's files", lambda job: job.checkpoint_bytes),
    Figure("job_last_batch_timestamp_seconds", "When the last batch ended, Unix time", lambda job: seconds(job.last_progress_ms)),
    Figure(
        "job_last_savepoint_timestamp_seconds",
        "When the newest savepoint was taken, Unix time",
        lambda job: seconds(job.last_savepoint_ms),
        lasts=True,
    ),
    Figure("job_savepoint_usable", "1 while the sources hold what the newest savepoint needs, 0 if not", _usable, lasts=True),
    Figure("job_savepoints", "Savepoints that are kept", lambda job: job.savepoints, lasts=True),
    Figure("job_restarts", "How often the job began again, after a failure or by hand", lambda job: job.restarts),
)


def _growth(seen: Seen) -> float | None:
    now, before = seen.job.checkpoint_bytes, seen.job.checkpoint_bytes_before
    return now / before if now and before else None


def _waiting(unit: str) -> Callable[[Seen], float | None]:
    return lambda seen: next((waiting.amount for waiting in seen.job.backlog if waiting.unit == unit), None)


def _age(seen: Seen, at_ms: float | None) -> float | None:
    return None if at_ms is None else (seen.now_ms - at_ms) / 1_000


OF_ALERTS: tuple[Figure[Seen], ...] = (
    Figure(
        "savepoint_age_seconds",
        "How long ago the newest savepoint was taken",
        lambda seen: _age(seen, seen.job.last_savepoint_ms),
        lasts=True,
    ),
    Figure(
        "best_before_seconds",
        "Time left to the newest savepoint's best-before date, or until its sources no longer hold what it needs; below zero afterwards",
        lambda seen: None if seen.best_before_ms is None else -(_age(seen, seen.best_before_ms) or 0.0),
        lasts=True,
    ),
    Figure("batch_age_seconds", "How long ago the last batch ended", lambda seen: _age(seen, seen.job.last_progress_ms)),
    Figure("checkpoint_growth_ratio", "Bytes of the checkpoint divided by those of a day ago", _growth),
    Figure(
        "recent_restarts",
        "How often the job was begun again in the last hour by itself, after a failure",
        lambda seen: seen.job.recent_restarts,
    ),
    Figure("recent_late_rows", "Rows dropped as too late, last ten minutes", lambda seen: max(0, seen.job.late_rows - seen.late_before)),
    *(Figure(f"backlog_{unit}", f"What the job's sources have not read yet, in {unit}", _waiting(unit)) for unit in UNITS),
)
"""What an alert may look at besides: what needs the clock, and parts of what `/metrics` has under labels."""
_OF_JOB = "job_"
EXPOSED = frozenset(figure.name.removeprefix(_OF_JOB) for figure in OF_JOBS)
"""Names that `/metrics` has, too, with `METRIC` before them; only alerts have the others."""


def _of_job(figure: Figure[JobSummary]) -> Figure[Seen]:
    return Figure(figure.name.removeprefix(_OF_JOB), figure.says, lambda seen: figure.of(seen.job), figure.lasts)


ALERTABLE: Mapping[str, Figure[Seen]] = {figure.name: figure for figure in (*map(_of_job, OF_JOBS), *OF_ALERTS)}
"""By the name that a rule's threshold has them under."""


def metric_of(figure: str) -> str:
    """The name of a rule's figure in `/metrics`: `tidemark_job_state_rows` of `state_rows`; empty for what only alerts have."""
    return METRIC + figure if figure in EXPOSED or figure == OBSERVED.strip() else ""


def value_of(condition: Condition, seen: Seen) -> float | None:
    """The figure that a condition looks at, None where it is not known. Where several queries observe the number, it is the worst."""
    if condition.growth:
        return seen.grown
    if condition.observed:
        values = [number.value for number in seen.job.observed if number.name == condition.observed]
        return (max if condition.sign.startswith(">") else min)(values, default=None)
    return ALERTABLE[condition.figure].of(seen) if condition.figure in ALERTABLE else None
