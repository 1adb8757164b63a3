"""The table of jobs: chips of states to choose from, a box to filter, a row a job with a box to tick it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

import streamlit as st

from dashboard import navigation, paging, session
from dashboard.components.table import Boxes, Cell, Column, Paged, Row, moment, number, shortened, table
from dashboard.health import health
from dashboard.views import choices
from dashboard.views.overview import groups
from dashboard.widgets import Tone
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState
from pipelines.words import backlog, catching_up, formats

COLUMNS = (
    Column("State"),
    Column("Job"),
    Column("Version"),
    Column("Batch latency", hint="Batch durations of the last ten minutes"),
    Column("p50", "right", "Median batch duration, last ten minutes"),
    Column("p99", "right", "99th percentile of batch durations, last ten minutes"),
    Column("In /s", "right", "Rows read per second"),
    Column("Processed /s", "right", "Rows per second that Spark could process"),
    Column("Backlog", "right", "What the job has not read from its sources yet, and when it will have caught up"),
    Column("Lag", "right", "How far the newest event is behind the clock"),
    Column("State rows", "right", "Rows kept by the stateful operators"),
    Column("State size", "right", "Memory of the state stores"),
    Column("Checkpoint", "right", "Bytes in the checkpoint directory"),
    Column("Last savepoint"),
    Column("Restarts", "right", "How often the job began again, after a failure or by hand"),
    Column("Uptime", "right"),
)
ALL, RUNNING, ATTENTION, FAILED, STOPPED = "All", "Running", "Needs attention", "Failed", "Stopped"
GROWING = 1e12
"""More than the ms of any catching up."""
_ENDED = (None, RunState.STOPPED, RunState.FINISHED)
CHOICES: Mapping[str, Callable[[JobSummary, Container[str]], bool]] = {
    ALL: lambda job, attention: True,
    RUNNING: lambda job, attention: job.state is not None and job.state.up,
    ATTENTION: lambda job, attention: job.job.name in attention,
    FAILED: lambda job, attention: job.state is not None and job.state.has_failed,
    STOPPED: lambda job, attention: job.state in _ENDED,
}


def counts(jobs: Iterable[JobSummary], attention: Container[str]) -> dict[str, int]:
    """Choice -> how many jobs it lets through: the numbers of the chips, and of every other place that counts jobs."""
    every = tuple(jobs)
    return {choice: sum(fits(job, attention) for job in every) for choice, fits in CHOICES.items()}


def draw(jobs: Sequence[JobSummary], attention: Container[str], now: float) -> str | None:
    """Draws the jobs that the chips and the box let through; the name of one once, when it was clicked. Ticked ones go into the address.

    `attention` are the names of the jobs that need some.
    """
    fitting = _chosen(jobs, attention, now)
    empty = "No job fits. Choose another state, or clear the filter."
    rows = Paged(paging.chosen(fitting, _keys(now)), lambda shown: [_row(job, now) for job in shown])
    return table(COLUMNS, rows, key="jobs", label="Jobs", empty=empty, boxes=Boxes(groups.picked(), groups.pick))


def _keys(now: float) -> dict[str, paging.Key[JobSummary]]:
    """Column -> what it is ordered by; in the order of the columns."""
    return {
        "State": lambda job: _ORDER.index(health(job)[1]),
        "Job": lambda job: job.job.name.casefold(),
        "Version": lambda job: job.run.version if job.run else None,
        "Batch latency": lambda job: job.batch_ms_p99,
        "p50": lambda job: job.batch_ms_p50,
        "p99": lambda job: job.batch_ms_p99,
        "In /s": lambda job: job.input_rate,
        "Processed /s": lambda job: job.processed_rate,
        "Backlog": lambda job: _backlog_order(job),
        "Lag": lambda job: job.lag_ms,
        "State rows": lambda job: job.state_rows,
        "State size": lambda job: job.state_bytes,
        "Checkpoint": lambda job: job.checkpoint_bytes,
        "Last savepoint": lambda job: job.last_savepoint_ms,
        "Restarts": lambda job: job.restarts,
        "Uptime": lambda job: _uptime(job, now),
    }


def _chosen(jobs: Sequence[JobSummary], attention: Container[str], now: float) -> list[JobSummary]:
    state = session.selected("state", ALL)
    state = state if state in CHOICES else ALL
    with st.container(horizontal=True, vertical_alignment="center", key="jobs_bar"):
        st.html('<div class="tm-section"><h2>Jobs</h2></div>', width="content")
        choices.chips(counts(jobs, attention), state, name="state")
        st.html(f'<div class="tm-stamp">updated {formats.clock(now, session.zone())}</div>', width="stretch")
        words = st.text_input(
            "Filter jobs", key="filter", bind="query-params", placeholder="Filter jobs", icon=":material/search:", type="search",
            live=True, label_visibility="collapsed", width=240,
        )  # fmt: skip
    terms = (words or "").casefold().split()
    return [job for job in jobs if CHOICES[state](job, attention) and all(word in _text(job) for word in terms)]


def _text(job: JobSummary) -> str:
    findings = " ".join(f"{finding.title} {finding.code}" for finding in job.findings)
    return f"{job.job.name} {job.run.version if job.run else ''} {health(job)[0]} {findings}".casefold()


def _uptime(job: JobSummary, now: float) -> float | None:
    run = job.run
    return now - run.started_ms if run and run.started_ms and job.state is not None and job.state.live else None


def _row(job: JobSummary, now: float) -> Row:
    name, run = job.job.name, job.run
    text, tone = health(job)
    up, past = _uptime(job, now), job.state is not None and not job.state.current
    cells = (
        _state(text, tone, job),
        Cell(name, strong=True),
        shortened(run.version, muted=True) if run else Cell(),
        Cell("", sort=job.batch_ms_p99, line=job.latency, muted=past) if len(job.latency) > 1 else Cell(muted=past),
        number(job.batch_ms_p50, formats.duration, muted=past),
        number(job.batch_ms_p99, formats.duration, muted=past),
        number(job.input_rate, formats.compact, muted=past),
        number(job.processed_rate, formats.compact, muted=past),
        _backlog(job, past),
        number(job.lag_ms, formats.duration, hint=_catching_up(job), muted=past or job.idle_since_ms is not None),
        number(job.state_rows, formats.compact, muted=past),
        number(job.state_bytes, formats.size, muted=past),
        number(job.checkpoint_bytes, formats.size, muted=past),
        moment(job.last_savepoint_ms, now),
        Cell(f"{job.restarts:,}" if job.restarts else formats.MISSING, sort=job.restarts),
        number(up, formats.duration),
    )
    return Row(name, cells, navigation.href("job", job=name))


def _catching_up(job: JobSummary) -> str:
    return f"catching up: {catching_up.described(job.catching_up)}" if job.catching_up else ""


def _backlog(job: JobSummary, past: bool = False) -> Cell:
    """How much is waiting and what comes of it, muted where that is `past`; in a download the plain amount."""
    waiting = backlog.main(job.backlog)
    if waiting is None:
        return Cell(muted=past)
    busy = f"; batches fill {backlog.share(job)}" if job.busy is not None else ""
    hint = f"{backlog.amount(waiting)}: {backlog.outlook(waiting)}{busy}"
    return Cell(backlog.briefly(waiting), sort=_backlog_order(job), raw=waiting.amount, hint=hint, tone=None, muted=past)


def _backlog_order(job: JobSummary) -> float | None:
    """What grows comes before what is caught up latest."""
    waiting = backlog.main(job.backlog)
    if waiting is None:
        return None
    return GROWING + waiting.amount if backlog.grows(waiting) else backlog.left_ms(waiting) or 0.0


_ORDER: tuple[Tone, ...] = ("red", "orange", "blue", "green", "gray")


def _state(text: str, tone: Tone, job: JobSummary) -> Cell:
    """Ordered by how bad it is."""
    return Cell(text, sort=_ORDER.index(tone), tone=tone, live=job.state is not None and job.state.live)
