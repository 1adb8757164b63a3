"""The overview: key figures, what needs attention, the table of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard import navigation, session
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views import waiting
from dashboard.views.live import live, live_switch, range_switch
from dashboard.views.overview import table
from dashboard.views.overview.attention import Alert, alerts
from dashboard.widgets import chip, command, empty_state, errors_shown, page_header, when
from pipelines.domain.experiments import Health
from pipelines.domain.jobs import JobSummary
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ShowHealth, StartExample
from pipelines.verbs.take import Take
from pipelines.words import formats

ABOUT = (
    "Tidemark watches Spark streaming jobs and keeps versions of their state: take a savepoint of a running job, fork it with changed "
    "code, and compare the two."
)
EXAMPLE = "The example runs a generator of events and <b>post_engagement</b>, which counts views and clicks per post."

LINE_STEPS = 600
"""The small lines of the key figures are as old as one of so many steps of their range at most."""


def page() -> None:
    """Draws the overview."""
    with errors_shown():
        jobs = session.shared(ListJobs())
        if not jobs:
            _first_steps()
            return
        with page_header("Overview", caption=_caption(jobs)):
            span_ms = range_switch()
            on = live_switch()
            if st.button("New job", type="primary", icon=":material/add:", key="new_job"):
                navigation.go("new_job")
        live(lambda: _draw(span_ms, len(jobs)), on)


def _caption(jobs: Sequence[JobSummary]) -> str:
    running = sum(1 for job in jobs if job.state is not None and job.state.live)
    return f"{formats.plural(len(jobs), 'job')} · {running:,} live"


def _draw(span_ms: int, known: int) -> None:
    with errors_shown():
        now = session.now_ms()
        jobs = session.shared(ListJobs())
        health = session.shared(ShowHealth(span_ms), age_ms=span_ms / LINE_STEPS)
        if len(jobs) != known:
            st.rerun()
        _figures(health.as_of(jobs), {job.job.name: job for job in jobs})
        attention = alerts(jobs, session.shared(ListSavepoints()), health)
        if attention:
            _attention(attention, now)
        opened = table.draw(jobs, {alert.job for alert in attention}, now)
        if opened:
            navigation.go("job", job=opened)


def _figures(health: Health, jobs: Mapping[str, JobSummary]) -> None:
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
                hint="Jobs that run, of all jobs; the line is over the range",
            ),
            KeyFigure(
                "Input rate",
                formats.compact(health.input_rate),
                "rows/s",
                note="all jobs together",
                line=health.input_line,
                hint="Rows a second that all running jobs read",
            ),
            KeyFigure(
                "Worst p99 batch time",
                formats.duration(health.worst_batch_ms_p99),
                note=health.worst_batch_job,
                line=health.batch_line,
                hint="The slowest job's 99th percentile of batch durations, last ten minutes",
            ),
            KeyFigure(
                "Worst event-time lag",
                formats.duration(health.worst_lag_ms),
                note=health.worst_lag_job,
                tone="orange" if latest and latest.findings else None,
                line=health.lag_line,
                hint="How far the newest event of the slowest job is behind the clock",
            ),
            KeyFigure(
                "Savepoint storage",
                formats.size(health.savepoint_bytes),
                note=formats.plural(health.savepoints, "savepoint"),
                line=health.storage_line,
                hint="Bytes that all savepoints refer to; hard links share them with the checkpoints",
            ),
        ],
        min_width=210,
    )


ACTIONS = {
    "resume": "Resume",
    "inspect": "Inspect",
    "logs": "Read the log",
    "take": "Take a savepoint",
    "savepoint": "Open savepoint",
    "settings": "See the storage",
}
MOST = 5


def _attention(attention: Sequence[Alert], now: float) -> None:
    with st.container(border=True, key="card_attention", gap=None):
        for alert in attention[:MOST]:
            with st.container(horizontal=True, vertical_alignment="center", key=f"attention_{alert.job}_{alert.subject}"):
                st.html(_words(alert, now), width="stretch")
                label = ACTIONS[alert.action]
                if st.button(
                    label,
                    key=f"do_{alert.action}_{alert.subject or alert.job}",
                    type="tertiary",
                    icon=":material/arrow_forward:",
                    icon_position="right",
                ):
                    _act(alert)
        if len(attention) > MOST:
            st.html(f'<div class="tm-attention tm-more">and {len(attention) - MOST} more: Needs attention, below, shows their jobs</div>')


def _words(alert: Alert, now: float) -> str:
    from html import escape

    since = f' <span class="tm-when">{when(alert.since_ms, now)}</span>' if alert.since_ms else ""
    code = f' <code class="tm-mono">{escape(alert.code)}</code>' if alert.code else ""
    words = f'<span class="tm-words">{escape(alert.words)}</span>' if alert.words else ""
    badge = chip(alert.title.capitalize(), alert.tone, dot=True)
    return f'<div class="tm-attention">{badge}<b>{escape(alert.job)}</b>{since}{code}{words}</div>'


def _act(alert: Alert) -> None:
    """Does what an alert proposes: resumes at once (after its last batch, so nothing is lost), takes a savepoint, or opens a page."""
    if alert.action == "resume":
        with errors_shown():
            do(session.workspace(), Resume(alert.job))
            navigation.go("job", job=alert.job)
        return
    if alert.action == "take":
        with errors_shown():
            waiting.take(Take(alert.job))
            navigation.go("job", job=alert.job, tab="Savepoints")
        return
    if alert.action == "savepoint":
        navigation.go("savepoints", savepoint=alert.subject)
    if alert.action == "settings":
        navigation.go("settings")
    navigation.go("job", job=alert.job, tab="Logs" if alert.action == "logs" else "")


def _first_steps() -> None:
    with page_header("Overview"):
        pass
    with empty_state("No jobs yet", ABOUT, key="jobs"):
        with st.container(horizontal=True, horizontal_alignment="center"):
            example = st.button("Start the example", type="primary", icon=":material/play_arrow:", key="start_example")
            own = st.button("New job", icon=":material/add:", key="new_job")
        st.html(f'<p class="tm-fine">{EXAMPLE}</p>')
        command("python -m pipelines run my_job.py --name my_job")
    if own:
        navigation.go("new_job")
    if example:
        with errors_shown():
            do(session.workspace(), StartExample())
            st.rerun()
