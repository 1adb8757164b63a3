"""Limits from which a job needs attention: the usual ones, a job's own, and both in words. Pure."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.job_limits import JobLimits
from pipelines.domain.jobs import JobSummary
from pipelines.domain.moments import DAY_MS, HOUR_MS
from pipelines.words import formats

LAGGING_MS = 60_000
QUIET_MS, QUIET_GAPS = 120_000, 5
"""A job without a batch for so many of its usual gaps makes no progress."""
WATCHED_QUIET_MS, WATCHED_QUIET_GAPS = 600_000, 20
"""Of an attached job nobody says whether there was data, so it has longer."""
WATCHED_LAG_MS = HOUR_MS
"""Of an attached job only the watermark is known, which is late by what its code allows, too."""
STARTING_MS = 240_000
UNSAVED_MS = DAY_MS
"""A job whose state has no savepoint for so long would lose a day's worth with its checkpoint."""
RESTARTS_AN_HOUR = 3
GROWN_TIMES, GROWN_BYTES = 2.0, 1_000_000_000
"""A checkpoint that became so many times as large in a day, and grew by so much, is looked at."""


def quiet_ms(job: JobSummary) -> float:
    """How long the job may be without a batch: of its trigger's interval, or of its usual gap."""
    least, gaps = (WATCHED_QUIET_MS, WATCHED_QUIET_GAPS) if job.job.attached else (QUIET_MS, QUIET_GAPS)
    return job.job.limits.quiet_ms or max(least, gaps * (job.usual_gap_ms or 0)) + 5 * (job.batch_ms_p99 or 0)


def lag_ms(job: JobSummary) -> float:
    """Lag from which the job lags: between two batches it grows by the usual gap, which is no lag."""
    least = WATCHED_LAG_MS if job.job.attached else LAGGING_MS
    return job.job.limits.lag_ms or least + (job.usual_gap_ms or 0)


def starting_ms(job: JobSummary) -> int:
    return job.job.limits.starting_ms or STARTING_MS


def unsaved_ms(job: JobSummary) -> int:
    return job.job.limits.unsaved_ms or UNSAVED_MS


def restarts(job: JobSummary) -> int:
    return job.job.limits.restarts or RESTARTS_AN_HOUR


def growth_bytes(job: JobSummary) -> float:
    """By how much its checkpoint may grow in a day."""
    return job.job.limits.growth_bytes or max(GROWN_BYTES, (GROWN_TIMES - 1) * (job.checkpoint_bytes_before or 0))


def usual(job: JobSummary) -> JobSummary:
    """The job as if nobody had set a limit for it."""
    return replace(job, job=replace(job.job, limits=JobLimits()))


def limit(limit_ms: float, own: int | None) -> str:
    """`limit 2m 00s`; of a limit that somebody set `limit 10m 00s, set for this job`."""
    return f"limit {formats.duration(limit_ms)}" + (", set for this job" if own else "")


def spelt(limits: JobLimits) -> str:
    """Those that somebody set: `no batch 10m 00s, lag 5m 00s`; empty where there are none."""
    times = (("no batch", limits.quiet_ms), ("lag", limits.lag_ms), ("starting", limits.starting_ms), ("no savepoint", limits.unsaved_ms))
    words = [f"{name} {formats.duration(limit)}" for name, limit in times if limit]
    restarts = [f"restarts {limits.restarts} an hour"] if limits.restarts else []
    growth = [f"growth {formats.size(limits.growth_bytes)} a day"] if limits.growth_bytes else []
    return ", ".join([*words, *restarts, *growth])
