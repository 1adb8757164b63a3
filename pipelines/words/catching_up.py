"""Whether a job catches up, and in words: how far it is behind, its speed, and when it will be there. Pure."""

from __future__ import annotations

from pipelines.domain.catching_up import CatchingUp, Pace
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState
from pipelines.words import backlog, formats, limits

BY_EVENT_TIME = ", by event time"
USUAL_GAPS = 2
"""A fork that lags by less than so many of its usual batches is there, where no source says what is waiting."""


def shown(job: JobSummary) -> CatchingUp | None:
    """What a job's page shows: of a fork how far it is behind while it is behind at all, of any other what `of_job` says."""
    catching = of_job(job)
    return catching if catching is not None or job.job.origin is None else _of_fork(job)


def of_job(job: JobSummary) -> CatchingUp | None:
    """None for a job that is not behind by its limit, or whose end is not in sight at its present pace."""
    if not _reads(job):
        return None
    if job.job.lead is not None and job.job.lead.until:
        return _to_its_end(job)
    catching = _at_its_pace(job)
    behind_ms = job.lag_ms if job.lag_ms is not None else catching.left_ms
    return None if catching.left_ms is None or behind_ms is None or behind_ms < limits.lag_ms(job) else catching


def _reads(job: JobSummary) -> bool:
    return job.idle_since_ms is None and job.state in (RunState.RUNNING, RunState.WATCHED)


def _at_its_pace(job: JobSummary) -> CatchingUp:
    waiting = backlog.main(job.backlog)
    left_ms, pace = backlog.left_ms(waiting), Pace.BACKLOG
    if left_ms is None and not backlog.grows(waiting):
        left_ms, pace = _left_of_lag_ms(job), Pace.EVENT_TIME
    return CatchingUp(job.lag_ms, waiting, job.input_rate, left_ms, None if left_ms is None else pace)


def _of_fork(job: JobSummary) -> CatchingUp | None:
    """None where all that there is has been read, or nobody says what is waiting and its lag is that of usual batches."""
    if not _reads(job) or (job.job.lead is not None and job.job.lead.until):
        return None
    waiting = backlog.main(job.backlog)
    lags = job.lag_ms is not None and job.gap_ms is not None and job.lag_ms > USUAL_GAPS * job.gap_ms
    is_behind = lags if waiting is None else bool(waiting.amount)
    return _at_its_pace(job) if is_behind else None


def _left_of_lag_ms(job: JobSummary) -> float | None:
    if not job.lag_ms or job.lag_change is None or job.lag_change >= 0:
        return None
    left_ms = job.lag_ms / -job.lag_change
    return left_ms if left_ms <= backlog.LONGEST_MS else None


def _to_its_end(job: JobSummary) -> CatchingUp | None:
    """Of a job that ends at a batch of its leader's the clock says nothing: the batches up to there do."""
    if not job.batches_left or job.gap_ms is None:
        return None
    left_ms = job.batches_left * job.gap_ms
    return CatchingUp(job.lag_ms, backlog.main(job.backlog), job.input_rate, left_ms, Pace.BATCHES, job.batches_left)


def described(catching: CatchingUp) -> str:
    """`2h 10m behind in event time, 1.2M rows, 40.0k rows/s, there in about 6m 00s`; what is not known is said as such."""
    behind = "no event time" if catching.behind_ms is None else f"{formats.duration(catching.behind_ms)} behind in event time"
    waiting = "backlog not known" if catching.backlog is None else backlog.amount(catching.backlog)
    waiting = "no backlog" if waiting == "none" else waiting
    pace = "speed not known" if catching.rows_per_second is None else formats.rate(catching.rows_per_second)
    there = _there(catching)
    if catching.batches is not None:
        return f"{formats.plural(catching.batches, 'batch', 'batches')} left to its end, {pace}, {there}"
    return f"{behind}, {waiting}, {pace}, {there}"


def _there(catching: CatchingUp) -> str:
    if catching.left_ms is None:
        return "when it will be there cannot be told at this pace"
    return f"there in about {formats.left(catching.left_ms)}{BY_EVENT_TIME if catching.pace is Pace.EVENT_TIME else ''}"
