"""The figures on top of the overview: all jobs together, and the job that is worst off in each respect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dashboard import navigation
from dashboard.health import is_late
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views.overview import table
from dashboard.views.overview.attention import Alert
from dashboard.widgets import Tone
from pipelines.domain.experiments import Health
from pipelines.domain.jobs import JobSummary
from pipelines.words import backlog, formats
from pipelines.words.savepoints import FULL, SIZE_HINTS


def draw(together: Health, jobs: Mapping[str, JobSummary], attention: Sequence[Alert]) -> None:
    """All of them; one that names a job leads to it, one that counts jobs to the list of those."""
    latest = jobs.get(together.worst_lag_job)
    key_figures(
        [
            running_of(together, jobs.values(), attention),
            KeyFigure(
                "Input rate",
                formats.compact(together.input_rate),
                "rows/s",
                note="all jobs together",
                line=together.input_line,
                hint="Rows per second that all running jobs read",
            ),
            backlog_of(jobs.values()),
            KeyFigure(
                "Worst p99 batch time",
                formats.duration(together.worst_batch_ms_p99),
                note=together.worst_batch_job,
                line=together.batch_line,
                hint="The slowest job's 99th percentile of batch durations, last ten minutes",
                href=_page_of(together.worst_batch_job),
            ),
            KeyFigure(
                "Worst event-time lag",
                formats.duration(together.worst_lag_ms),
                note=together.worst_lag_job,
                tone="orange" if latest and is_late(latest) else None,
                line=together.lag_line,
                hint="How far the newest event of the slowest job is behind the clock",
                href=_page_of(together.worst_lag_job),
            ),
            KeyFigure(
                "Savepoints' full size",
                formats.size(together.savepoint_bytes),
                note=formats.plural(together.savepoints, "savepoint"),
                line=together.storage_line,
                hint=f"{SIZE_HINTS[FULL]}; hard links share them, and the page of savepoints says what all take on disk",
                href=navigation.href("savepoints"),
            ),
        ],
        min_width=170,
    )


def running_of(together: Health, jobs: Iterable[JobSummary], attention: Sequence[Alert]) -> KeyFigure:
    """Green only while no job has failed and none needs attention; its note counts what the chip of the same name lists."""
    numbers = table.counts(jobs, {alert.job for alert in attention})
    note, tone, listed = _running_note(numbers, attention[0].tone if attention else "gray")
    hint = "Running jobs, of all jobs; the line covers the range chosen above"
    href = navigation.href("overview", state=listed) if listed else ""
    value = f"{together.running:,} / {together.jobs:,}"
    return KeyFigure("Running", value, note=note, tone=tone, line=together.running_line, hint=hint, href=href)


def _running_note(numbers: Mapping[str, int], worst: Tone) -> tuple[str, Tone, str]:
    """What is said, its colour, and the choice of the list that shows those jobs."""
    failed, unwell, stopped = (numbers[choice] for choice in (table.FAILED, table.ATTENTION, table.STOPPED))
    if failed:
        return f"{failed:,} failed", "red", table.FAILED
    if unwell:
        return f"{unwell:,} {'needs' if unwell == 1 else 'need'} attention", worst, table.ATTENTION
    if stopped:
        return f"{stopped:,} stopped", "green", table.STOPPED
    return "all run" if numbers[table.RUNNING] == numbers[table.ALL] else "none stopped", "green", ""


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
        return KeyFigure("Backlog", "none", note="all sources read to their end", hint=hint)
    taken_ms, hint = backlog.left_ms(waiting), f"{hint}; {name}: {backlog.outlook(waiting)}"
    outlook = "growing" if growing else f"{formats.left(taken_ms)} left" if taken_ms is not None else backlog.outlook(waiting)
    note = f"{outlook}: {name}{more}"
    tone: Tone | None = "orange" if growing else None
    return KeyFigure("Backlog", backlog.amount(waiting), note=note, tone=tone, hint=hint, href=_page_of(name))


def _page_of(job: str) -> str:
    """Where a figure leads that names a job; nowhere where it names none."""
    return navigation.href("job", job=job) if job else ""
