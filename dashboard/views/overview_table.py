"""The table of jobs: chips of states to choose from, a box to filter, a row a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from dashboard import formats, navigation, session
from dashboard.components.table import Cell, Column, Row, moment, number, shortened, table
from dashboard.views.attention import Finding
from dashboard.widgets import STATES, Tone
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState

COLUMNS = (
    Column("State"),
    Column("Job"),
    Column("Version"),
    Column("Batch latency", hint="Batch durations of the last ten minutes"),
    Column("p50", "right", "Median batch duration, last ten minutes"),
    Column("p99", "right", "99th percentile of batch durations, last ten minutes"),
    Column("In /s", "right", "Rows that come in, a second"),
    Column("Processed /s", "right", "Rows that could be processed, a second"),
    Column("Lag", "right", "How far the newest event is behind the clock"),
    Column("State rows", "right", "Rows that the stateful operators keep"),
    Column("State size", "right", "Memory of the state stores"),
    Column("Checkpoint", "right", "Bytes in the checkpoint directory"),
    Column("Last savepoint"),
    Column("Restarts", "right"),
    Column("Uptime", "right"),
)
_ENDED = (None, RunState.STOPPED, RunState.FINISHED)
CHOICES: Mapping[str, Callable[[JobSummary, frozenset[str]], bool]] = {
    "All": lambda job, attention: True,
    "Running": lambda job, attention: job.state is not None and job.state.live,
    "Needs attention": lambda job, attention: job.job.name in attention,
    "Failed": lambda job, attention: job.state is RunState.FAILED,
    "Stopped": lambda job, attention: job.state in _ENDED,
}


def draw(jobs: Sequence[JobSummary], found: Sequence[Finding], now: float) -> str | None:
    """Draws the jobs that the chips and the box let through; the name of one once, when it was clicked."""
    attention = frozenset(one.job for one in found)
    shown = _chosen(jobs, attention, now)
    empty = "No job fits. Choose another state, or clear the filter."
    return table(COLUMNS, [_row(job, _lagging(job, found), now) for job in shown], key="jobs", label="Jobs", empty=empty)


def _chosen(jobs: Sequence[JobSummary], attention: frozenset[str], now: float) -> list[JobSummary]:
    with st.container(horizontal=True, vertical_alignment="center", key="jobs_bar"):
        st.html('<div class="tm-section"><h2>Jobs</h2></div>', width="content")
        state = st.pills(
            "State",
            list(CHOICES),
            default="All",
            required=True,
            key="state",
            bind="query-params",
            label_visibility="collapsed",
        )
        st.html(f'<div class="tm-stamp">updated {formats.clock(now, session.zone())}</div>', width="stretch")
        words = st.text_input(
            "Filter jobs", key="filter", bind="query-params", placeholder="Filter jobs", icon=":material/search:", type="search",
            live=True, label_visibility="collapsed", width=240,
        )  # fmt: skip
    wanted = (words or "").casefold().split()
    fits = CHOICES.get(state or "All", CHOICES["All"])
    return [job for job in jobs if fits(job, attention) and all(word in _text(job) for word in wanted)]


def _text(job: JobSummary) -> str:
    return f"{job.job.name} {job.run.version if job.run else ''} {STATES[job.state][0]}".casefold()


def _lagging(job: JobSummary, found: Sequence[Finding]) -> Finding | None:
    return next((one for one in found if one.job == job.job.name and job.state is RunState.RUNNING), None)


def _row(job: JobSummary, finding: Finding | None, now: float) -> Row:
    name, run = job.job.name, job.run
    text, tone = STATES[job.state]
    if finding:
        text, tone = finding.title.capitalize(), finding.tone
    up = now - run.started_ms if run and run.started_ms and job.state is not None and job.state.live else None
    cells = (
        _state(text, tone, job),
        Cell(name, strong=True),
        shortened(run.version, muted=True) if run else Cell(),
        Cell("", sort=job.batch_ms_p99, line=job.latency) if len(job.latency) > 1 else Cell(),
        number(job.batch_ms_p50, formats.duration),
        number(job.batch_ms_p99, formats.duration),
        number(job.input_rate, formats.compact),
        number(job.processed_rate, formats.compact),
        number(job.lag_ms, formats.duration),
        number(job.state_rows, formats.compact),
        number(job.state_bytes, formats.size),
        number(job.checkpoint_bytes, formats.size),
        moment(job.last_savepoint_ms, now),
        Cell(f"{job.restarts:,}" if job.restarts else formats.MISSING, sort=job.restarts),
        number(up, formats.duration),
    )
    return Row(name, cells, navigation.href("job", job=name))


_ORDER: tuple[Tone, ...] = ("red", "orange", "blue", "green", "gray")


def _state(text: str, tone: Tone, job: JobSummary) -> Cell:
    """Ordered by how bad it is."""
    return Cell(text, sort=_ORDER.index(tone), tone=tone, live=job.state is not None and job.state.live)
