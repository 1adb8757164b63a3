"""What needs attention first, in words. Pure: summaries in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard import formats
from dashboard.widgets import Tone
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState

LAGGING_MS = 60_000
STUCK_MS = 120_000
STARTING_MS = 240_000
_BEHIND = 1.15
Action = Literal["resume", "inspect", "logs"]


@dataclass(frozen=True)
class Finding:
    """One job that somebody should look at: `title` what it is, `words` why, `code` an error class, `action` the next step."""

    job: str
    tone: Tone
    title: str
    words: str
    action: Action
    code: str = ""
    since_ms: float | None = None


def findings(jobs: Sequence[JobSummary], now_ms: float) -> list[Finding]:
    """In the order of the jobs, which is worst first; at most one of each job."""
    return [found for job in jobs if (found := next(_of(job, now_ms), None)) is not None]


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


def _failed(job: JobSummary) -> Finding:
    run = job.run
    ended = run.exit if run else None
    said = ended.message.strip().splitlines()[0] if ended and ended.message.strip() else ""
    since = (run.ended_ms or (ended.at_ms if ended else None)) if run else None
    return Finding(job.job.name, "red", "failed", _short(said), "resume", ended.error_class if ended else "", since)


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
