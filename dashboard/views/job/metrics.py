"""A job's numbers: what they are now, and over time with savepoints, versions and restarts as marks."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import navigation, session
from dashboard.components.panel import panel
from dashboard.drawing import jobs
from dashboard.drawing.figures import TimeMark
from dashboard.drawing.operators import operator_charts
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views.job import logs
from dashboard.widgets import Tone, empty_state, section
from pipelines.domain.jobs import Job, JobDetail, JobSummary, Run
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.jobs import ReadLog, ShowSeries
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import formats

POINTS = 600
OLDEST_MS = 15_000
"""A line is asked for anew when a point's width has passed, after this time at the latest."""
TAIL_BYTES = 12_000
LEAD_MS = 5_000
SHORTEST_MS = 120_000
FROM_OUTSIDE = ("latency", "lag", "checkpoint")
"""Charts of what a checkpoint alone says."""


def draw(name: str, detail: JobDetail, span_ms: int, now: float) -> None:
    """Key figures and charts over the last `span_ms`."""
    if detail.summary.last_progress_ms is None:
        _waiting(name, detail)
        return
    attached = detail.summary.job.attached
    if attached:
        key_figures(_from_outside(detail.summary, now), min_width=158)
    else:
        _figures(detail.summary)
    since = since_ms(detail.summary.job, span_ms, now)
    series = session.shared(
        ShowSeries(name, from_ms=int(since), to_ms=int(now), points=POINTS),
        by=(ShowSeries, name, span_ms),
        age_ms=min(span_ms / POINTS, OLDEST_MS),
    )
    marks = marks_of(detail.runs, session.shared(ListSavepoints(name)), since)
    grid = st.grid(3, gap=12, min_column_width=360)
    span = (since, now)
    drawn = jobs.job_charts(series.columns, marks, span) | operator_charts(series, marks, span)
    for key, chart in drawn.items():
        if attached and (key not in FROM_OUTSIDE or not chart.traces):
            continue
        with grid.cell():
            clicked = panel(chart, key=f"{key}_{name}", group=f"job_{name}", clickable=True)
        if clicked:
            navigation.go("savepoints", savepoint=clicked)


def since_ms(job: Job, span_ms: int, now: float) -> float:
    """The beginning of the charts: for a job younger than the range its own beginning, instead of a thin strip at the edge."""
    return max(now - span_ms, min(job.created_ms - LEAD_MS, now - SHORTEST_MS))


def _waiting(name: str, detail: JobDetail) -> None:
    """The page before the first batch: an explanation and the end of the driver's log."""
    live = detail.summary.state is not None and detail.summary.state.live
    title = ("Its first batch runs" if detail.queries else "The driver starts") if live else "No batch yet"
    begins = "The charts begin with the first batch."
    says = f"{begins} A driver needs half a minute to start Spark; the first batch is the slowest." if live else begins
    with empty_state(title, says, key="waiting"):
        pass
    chunk = None if detail.summary.job.attached else session.workspace().ask(ReadLog(name, offset=-TAIL_BYTES))
    if chunk and chunk.text:
        section("What the driver says")
        logs.box(chunk.text, height=320, wrap=True)


def _lag(job: JobSummary) -> tuple[str, Tone | None]:
    """What is said of the lag, and its colour. Only the lag of a job that runs without a finding is green."""
    if job.lag_ms is None:
        return "", None
    if job.idle_since_ms is not None:
        return "idle; as its last batch left it", None
    if job.state is not RunState.RUNNING:
        return "as its last batch left it", None
    return ("behind the clock", "orange") if job.findings else ("on time", "green")


def _figures(job: JobSummary) -> None:
    lag_note, lag_tone = _lag(job)
    p50, p99 = formats.duration(job.batch_ms_p50), formats.duration(job.batch_ms_p99)
    figures = [
        KeyFigure("Input", formats.compact(job.input_rate), "rows/s", note="of the last batch"),
        KeyFigure("Processed", formats.compact(job.processed_rate), "rows/s", note="of the last batch"),
        KeyFigure("Batch p50 / p99", f"{p50} / {p99}", note="last ten minutes"),
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
    return "keeps no state" if rows is None else f"{formats.compact(rows)} rows"


def marks_of(runs: Sequence[Run], savepoints: Sequence[Savepoint], since: float) -> list[TimeMark]:
    """Marks since then: savepoints, new versions, restarts of the same version."""
    taken = [
        TimeMark(
            savepoint.created_ms,
            "savepoint",
            f"{formats.short_id(savepoint.id)} · batch {savepoint.batch:,}{f' · {savepoint.label}' if savepoint.label else ''}",
            savepoint.id,
        )
        for savepoint in savepoints
    ]
    oldest_first = sorted(runs, key=lambda run: run.created_ms)
    begun = [_begun(run, earlier) for earlier, run in zip([None, *oldest_first], oldest_first, strict=False)]
    return [mark for mark in [*taken, *begun] if mark.at_ms >= since]


def _begun(run: Run, earlier: Run | None) -> TimeMark:
    at = run.started_ms or run.created_ms
    if earlier is not None and earlier.version == run.version:
        return TimeMark(at, "restart", "restart")
    return TimeMark(at, "version", formats.short_id(run.version))
