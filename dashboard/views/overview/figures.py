"""The figures on top of the overview: all jobs together, and the job that is worst off in each respect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dashboard import navigation
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.widgets import Tone
from pipelines.domain.experiments import Health
from pipelines.domain.jobs import JobSummary
from pipelines.words import backlog, formats


def draw(health: Health, jobs: Mapping[str, JobSummary]) -> None:
    """All of them; one that names a job leads to it."""
    latest = jobs.get(health.worst_lag_job)
    idle = health.jobs - health.running - health.failed
    key_figures(
        [
            KeyFigure(
                "Running",
                f"{health.running:,} / {health.jobs:,}",
                note=f"{health.failed:,} failed" if health.failed else f"{idle:,} not running" if idle else "all jobs run",
                tone="red" if health.failed else "green",
                line=health.running_line,
                hint="Running jobs, of all jobs; the line covers the range chosen above",
            ),
            KeyFigure(
                "Input rate",
                formats.compact(health.input_rate),
                "rows/s",
                note="all jobs together",
                line=health.input_line,
                hint="Rows per second that all running jobs read",
            ),
            backlog_of(jobs.values()),
            KeyFigure(
                "Worst p99 batch time",
                formats.duration(health.worst_batch_ms_p99),
                note=health.worst_batch_job,
                line=health.batch_line,
                hint="The slowest job's 99th percentile of batch durations, last ten minutes",
                href=_page_of(health.worst_batch_job),
            ),
            KeyFigure(
                "Worst event-time lag",
                formats.duration(health.worst_lag_ms),
                note=health.worst_lag_job,
                tone="orange" if latest and latest.findings else None,
                line=health.lag_line,
                hint="How far the newest event of the slowest job is behind the clock",
                href=_page_of(health.worst_lag_job),
            ),
            KeyFigure(
                "Savepoint storage",
                formats.size(health.savepoint_bytes),
                note=formats.plural(health.savepoints, "savepoint"),
                line=health.storage_line,
                hint="Bytes that all savepoints refer to; hard links share them with the checkpoints",
            ),
        ],
        min_width=170,
    )


def backlog_of(jobs: Iterable[JobSummary]) -> KeyFigure:
    """The job that is furthest behind: one whose backlog grows, else the one that is caught up last."""
    told = [(backlog.main(job.backlog), job.job.name) for job in jobs if job.backlog]
    hint = "Of the job furthest behind: what it has not read from its sources yet"
    if not told:
        return KeyFigure("Backlog", formats.MISSING, note="no source reports it", hint=hint)
    growing = [(waiting, name) for waiting, name in told if backlog.grows(waiting)]
    waiting, name = max(growing or told, key=lambda behind: (backlog.left_ms(behind[0]) or 0.0, behind[0].amount if behind[0] else 0))
    more = f", {len(growing):,} grow" if len(growing) > 1 else ""
    if waiting is None or not waiting.amount:
        return KeyFigure("Backlog", "none", note="all sources are read to their end", hint=hint)
    taken_ms, hint = backlog.left_ms(waiting), f"{hint}; {name}: {backlog.outlook(waiting)}"
    outlook = "growing" if growing else f"{formats.left(taken_ms)} left" if taken_ms is not None else backlog.outlook(waiting)
    note = f"{outlook}: {name}{more}"
    tone: Tone | None = "orange" if growing else None
    return KeyFigure("Backlog", backlog.amount(waiting), note=note, tone=tone, hint=hint, href=_page_of(name))


def _page_of(job: str) -> str:
    """Where a figure leads that names a job; nowhere where it names none."""
    return navigation.href("job", job=job) if job else ""
