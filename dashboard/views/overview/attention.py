"""What needs attention first, in words. Pure: summaries in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.widgets import Tone
from pipelines.domain.experiments import Health
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.words import formats

LAGGING_MS = 60_000
STUCK_MS = 120_000
STARTING_MS = 240_000
UNSAVED_MS = 86_400_000
"""A job whose state has no savepoint for so long would lose a day's worth with its checkpoint."""
RESTARTS_AN_HOUR = 3
GROWN_TIMES, GROWN_BYTES = 2.0, 1_000_000_000
"""A checkpoint that became so many times as large in a day, and grew by so much, is looked at."""
LITTLE_LEFT = 0.1
"""Share of free space below which the disk counts as nearly full."""
_BEHIND = 1.15
_URGENCY: tuple[Tone, ...] = ("red", "orange", "blue")
Action = Literal["resume", "inspect", "logs", "take", "savepoint", "settings"]


@dataclass(frozen=True)
class Finding:
    """A job that needs attention: `title` the problem, `words` the reason, `code` an error class, `action` the next step."""

    job: str
    tone: Tone
    title: str
    words: str
    action: Action
    code: str = ""
    since_ms: float | None = None
    subject: str = ""
    """The savepoint that it is about; empty for what is about the job, or (without a job) the workspace."""


def findings(
    jobs: Sequence[JobSummary], now_ms: float, savepoints: Sequence[Savepoint] = (), health: Health | None = None
) -> list[Finding]:
    """Worst first, then in the order of the jobs: at most one of each job, one of each damaged savepoint, one of the disk."""
    of_jobs = [finding for job in jobs if (finding := next(_of(job, now_ms), None)) is not None]
    every = [*(_of_disk(health) if health else ()), *of_jobs, *(_damaged(savepoint) for savepoint in savepoints if savepoint.damaged_files)]
    return sorted(every, key=lambda finding: _URGENCY.index(finding.tone))


def _of_disk(health: Health) -> Iterator[Finding]:
    free, total = health.free_bytes, health.total_bytes
    if free is not None and total and free < LITTLE_LEFT * total:
        left = f"{formats.size(free)} of {formats.size(total)} left; checkpoints and savepoints need it"
        yield Finding("", "orange", "disk nearly full", left, "settings")


def _damaged(savepoint: Savepoint) -> Finding:
    words = f"{savepoint.id}: {formats.plural(savepoint.damaged_files, 'damaged file')}"
    return Finding(savepoint.job, "red", "damaged savepoint", words, "savepoint", since_ms=savepoint.verified_ms, subject=savepoint.id)


def _of(job: JobSummary, now_ms: float) -> Iterator[Finding]:
    name = job.job.name
    if job.run is None:
        return
    if job.state is RunState.FAILED:
        yield _failed(job)
    elif job.state in (RunState.STARTING, RunState.WANTED) and now_ms - job.run.created_ms > STARTING_MS:
        yield Finding(name, "orange", "still starting", "its driver has not come up yet", "logs", since_ms=job.run.created_ms)
    elif job.state is RunState.RUNNING and job.queries:
        yield from _running(job, name, now_ms)
        yield from _slowly(job, name, now_ms)


def _slowly(job: JobSummary, name: str, now_ms: float) -> Iterator[Finding]:
    """Problems that come slowly: restarts, growth, state that only the checkpoint holds."""
    if job.recent_restarts >= RESTARTS_AN_HOUR:
        yield Finding(name, "orange", "restarting often", f"{job.recent_restarts} times in the last hour", "logs")
    now, before = job.checkpoint_bytes, job.checkpoint_bytes_before
    if now and before and now >= GROWN_TIMES * before and now - before >= GROWN_BYTES:
        yield Finding(name, "orange", "checkpoint growing", f"{formats.size(before)} a day ago, {formats.size(now)} now", "inspect")
    begun = job.run.started_ms if job.run else None
    saved = job.last_savepoint_ms or begun
    if job.state_rows and begun and saved and min(now_ms - begun, now_ms - saved) > UNSAVED_MS:
        since = "none was ever taken" if job.last_savepoint_ms is None else "the last one is old"
        yield Finding(name, "blue", "no savepoint", f"{formats.compact(job.state_rows)} rows of state; {since}", "take", since_ms=saved)


def _failed(job: JobSummary) -> Finding:
    run = job.run
    ended = run.exit if run else None
    message = ended.message.strip().splitlines()[0] if ended and ended.message.strip() else ""
    since = (run.ended_ms or (ended.at_ms if ended else None)) if run else None
    return Finding(job.job.name, "red", "failed", _short(message), "resume", ended.error_class if ended else "", since)


def _running(job: JobSummary, name: str, now_ms: float) -> Iterator[Finding]:
    quiet = STUCK_MS + 5 * (job.batch_ms_p99 or 0)
    last = job.last_progress_ms or (job.run.started_ms if job.run else None)
    if last is not None and now_ms - last > quiet:
        yield Finding(name, "orange", "no progress", "no batch has ended since", "logs", since_ms=last)
    if job.lag_ms is not None and job.lag_ms >= LAGGING_MS:
        yield Finding(name, "orange", "lagging", f"event-time lag {formats.duration(job.lag_ms)}{_behind(job)}", "inspect")
    elif _falls_behind(job):
        yield Finding(name, "orange", "falling behind", _behind(job).removeprefix(" · "), "inspect")


def _falls_behind(job: JobSummary) -> bool:
    return bool(job.input_rate and job.processed_rate and job.input_rate > _BEHIND * job.processed_rate and (job.batch_ms_p50 or 0) > 5_000)


def _behind(job: JobSummary) -> str:
    if not job.input_rate or job.processed_rate is None:
        return ""
    share = 100 * (1 - job.processed_rate / job.input_rate)
    return f" · processed rate {share:.0f} % below input" if share >= 1 else ""


def _short(text: str, most: int = 150) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
