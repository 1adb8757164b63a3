"""A job's numbers: what they are now, and over time with savepoints, versions and restarts as marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from dashboard import navigation, session
from dashboard.components.panel import panel
from dashboard.drawing import days, jobs
from dashboard.drawing.figures import Chart, TimeMark
from dashboard.drawing.marks import marks_of
from dashboard.drawing.observed import observed_charts
from dashboard.drawing.operators import backlog_charts, operator_charts
from dashboard.health import is_late
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views import ranges
from dashboard.views.job import alerts, logs, moments, observed
from dashboard.views.job.header import job_ended
from dashboard.views.live import range_ms
from dashboard.widgets import Tone, empty_state, section
from pipelines.domain.experiments import Series
from pipelines.domain.jobs import Job, JobDetail, JobSummary
from pipelines.domain.moments import DAY_MS
from pipelines.domain.runs import RunState
from pipelines.verbs.jobs import ReadLog, ShowSeries
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import backlog, catching_up, formats

POINTS = 600
OLDEST_MS = 15_000
"""A line is asked for anew when a point's width has passed, after this time at the latest."""
TAIL_BYTES = 12_000
LEAD_MS = 5_000
SHORTEST_MS = 120_000
BUSY = "Batch durations of the last ten minutes; below, the median's share of the usual time between two batches"
FROM_OUTSIDE = ("latency", "lag", "checkpoint")
"""Charts of what a checkpoint alone says."""


def draw(name: str, detail: JobDetail, now: float) -> None:
    """Key figures and charts over the chosen range."""
    if detail.summary.last_progress_ms is None:
        _waiting(name, detail)
        return
    attached = detail.summary.job.attached
    if attached:
        key_figures(_from_outside(detail.summary, now), min_width=158)
    else:
        _figures(detail.summary)
    if detail.summary.job.origin is not None and detail.summary.catching_up is not None:
        st.caption(f"Behind: {catching_up.described(detail.summary.catching_up)}")
    span_ms = range_ms()
    span = ranges.chosen() or _newest(detail, span_ms, now)
    yesterday, place = ranges.bar(span)
    moments.draw(name, detail)
    series = _series(name, span, span_ms, yesterday=yesterday)
    taken = session.shared(ListSavepoints(name))
    happened = [*marks_of(detail.runs, taken, span.from_ms), *alerts.marks(name, span.from_ms), *moments.marks()]
    marks = [mark for mark in happened if mark.at_ms <= span.to_ms]
    charts = _charts(series, marks, span)
    if attached:
        charts = {key: chart for key, chart in charts.items() if key in FROM_OUTSIDE and chart.traces}
    if charts:
        ranges.hint(span, place)
        _panels(name, charts, span)
    else:
        newest = f"The newest was committed {formats.ago(detail.summary.last_progress_ms, now)}."
        st.html(f'<div class="tm-quiet">No batch in this range of time. {newest}</div>')
    observed.without_chart(series)


def _panels(name: str, charts: Mapping[str, Chart], span: ranges.Span) -> None:
    grid = st.grid(5, gap=12, min_column_width=380)
    for key, chart in charts.items():
        with grid.cell():
            clicked = panel(
                chart,
                key=f"{key}_{name}",
                group=f"job_{name}",
                clickable=True,
                ranged=span.ranged,
                on_range=ranges.brushed,
                on_moment=moments.choose,
            )
        if clicked:
            navigation.go("savepoints", savepoint=clicked)


def _series(name: str, span: ranges.Span, span_ms: int, *, yesterday: bool) -> Series:
    """The job's numbers of that stretch, with those of the day before beside them where they are wanted."""
    shown = _asked(name, span, span_ms)
    if not yesterday:
        return shown
    past = _asked(name, replace(span, from_ms=span.from_ms - DAY_MS, to_ms=span.to_ms - DAY_MS), span_ms)
    return days.beside(shown, past, DAY_MS)


def _asked(name: str, span: ranges.Span, span_ms: int) -> Series:
    question = ShowSeries(name, from_ms=int(span.from_ms), to_ms=int(span.to_ms), points=POINTS)
    stays = span.chosen or span.ended
    by = question if stays else (ShowSeries, name, span_ms, round(session.now_ms() - span.to_ms, -4))
    return session.shared(question, by=by, age_ms=min((span.to_ms - span.from_ms) / POINTS, OLDEST_MS))


def _charts(series: Series, marks: Sequence[TimeMark], span: ranges.Span) -> dict[str, Chart]:
    """By key, in the order of the page: the backlog comes first, what the job observes itself last."""
    ends = (span.from_ms, span.to_ms)
    waiting = backlog_charts(series, marks, ends)
    own = observed_charts(series, marks, ends)
    return waiting | jobs.job_charts(series.columns, marks, ends) | operator_charts(series, marks, ends) | own


def _newest(detail: JobDetail, span_ms: int, now: float) -> ranges.Span:
    """The last minutes; of a job whose run has ended those before its end, which is what somebody comes for."""
    run, job = detail.summary.run, detail.summary.job
    if run is None or run.ended_ms is None or not job_ended(detail):
        return ranges.Span(since_ms(job, span_ms, now), now)
    end = min(run.ended_ms + LEAD_MS, now)
    return ranges.Span(since_ms(job, span_ms, end), end, ended=True)


def since_ms(job: Job, span_ms: int, now: float) -> float:
    """The beginning of the charts: for a job younger than the range its own beginning, instead of a thin strip at the edge."""
    return max(now - span_ms, min(job.created_ms - LEAD_MS, now - SHORTEST_MS))


def _waiting(name: str, detail: JobDetail) -> None:
    """The page before the first batch: an explanation and the end of the driver's log."""
    live = detail.summary.state is not None and detail.summary.state.live
    title = ("The first batch runs" if detail.queries else "The driver starts") if live else "No batch yet"
    begins = "The charts begin with the first batch."
    says = f"{begins} A driver needs half a minute to start Spark; the first batch is the slowest." if live else begins
    with empty_state(title, says, key="waiting"):
        pass
    chunk = None if detail.summary.job.attached else session.workspace().ask(ReadLog(name, offset=-TAIL_BYTES))
    if chunk and chunk.text:
        section("The driver's output")
        logs.box(chunk.text, height=320, wrap=True)


def _lag(job: JobSummary) -> tuple[str, Tone | None]:
    """What is said of the lag, and its colour. Only the lag of a job that runs and is not late is green."""
    if job.lag_ms is None:
        return "", None
    if job.idle_since_ms is not None:
        return "idle; as of its last batch", None
    if job.state is not RunState.RUNNING:
        return "as of its last batch", None
    if job.catching_up is not None and job.catching_up.left_ms is not None:
        return f"there in {formats.left(job.catching_up.left_ms)}", "blue"
    return ("behind the clock", "orange") if is_late(job) else ("on time", "green")


def _figures(job: JobSummary) -> None:
    lag_note, lag_tone = _lag(job)
    p50, p99 = formats.duration(job.batch_ms_p50), formats.duration(job.batch_ms_p99)
    filled = f"{BUSY}: {backlog.share(job)}" if job.busy is not None else BUSY
    too_long: Tone | None = "orange" if job.busy is not None and job.busy > 1 else None
    rates = f"{formats.compact(job.input_rate)} / {formats.compact(job.processed_rate)}"
    figures = [
        *_backlog(job),
        KeyFigure(
            "Input / processed",
            rates,
            "rows/s",
            note="of the last batch",
            hint="Rows read per second, and what Spark could process",
        ),
        KeyFigure("Batch p50 / p99", f"{p50} / {p99}", note=_busy(job) or _of_when(job), tone=too_long, hint=filled),
        KeyFigure(
            "Event-time lag",
            formats.duration(job.lag_ms),
            note=lag_note,
            tone=lag_tone,
            hint="How far the newest event read is behind the clock",
        ),
        KeyFigure(
            "Late rows dropped", formats.count(job.late_rows), note="by the newest run", hint="Older than the watermark when they came"
        ),
        KeyFigure("State", formats.size(job.state_bytes), note=_rows(job.state_rows)),
        KeyFigure("Checkpoint", formats.size(job.checkpoint_bytes), note=formats.plural(job.savepoints, "savepoint")),
    ]
    key_figures(figures, min_width=158)


def _backlog(job: JobSummary) -> list[KeyFigure]:
    waiting = backlog.main(job.backlog)
    if waiting is None:
        return []
    tone: Tone | None = "orange" if backlog.grows(waiting) else None
    outlook, hint = backlog.outlook(waiting) or "as of its last batch", "What the job has not read from its sources yet"
    return [KeyFigure("Backlog", backlog.amount(waiting), note=outlook.replace(" about ", " "), tone=tone, hint=f"{hint}; {outlook}")]


def _of_when(job: JobSummary) -> str:
    return "its last ten minutes" if job.state is not None and job.state.has_failed else "last ten minutes"


def _busy(job: JobSummary) -> str:
    if job.busy is None:
        return ""
    return f"{100 * job.busy:.0f} % of its trigger" if job.interval_ms else f"fill {backlog.share(job)}"


def _from_outside(job: JobSummary, now: float) -> list[KeyFigure]:
    """Key figures of a job that runs elsewhere, from its checkpoint alone."""
    p50, p99 = formats.duration(job.batch_ms_p50), formats.duration(job.batch_ms_p99)
    behind = None if job.watermark_ms is None else now - job.watermark_ms
    return [
        KeyFigure("Newest batch", formats.count(job.batch), note=f"committed {formats.ago(job.last_progress_ms, now)}"),
        KeyFigure("Batch p50 / p99", f"{p50} / {p99}", note="last ten minutes", hint="From the plan of a batch to its commit"),
        KeyFigure("Watermark", formats.duration(behind), note="no event time" if behind is None else "behind the clock"),
        KeyFigure("Checkpoint", formats.size(job.checkpoint_bytes), note=formats.plural(job.savepoints, "savepoint")),
    ]


def _rows(rows: int | None) -> str:
    return "keeps no state" if rows is None else f"{formats.compact(rows)} {'row' if rows == 1 else 'rows'}"
