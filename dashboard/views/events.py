"""What happened in the workspace, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import formats, navigation, session
from dashboard.components.table import Cell, Column, Row, clock, moment, table
from dashboard.views.live import live, live_switch
from dashboard.widgets import Tone, command, empty_state, errors_shown, page_header
from pipelines.domain.jobs import Event

LIMIT = 1_000
KINDS = ("All", "Runs", "Savepoints", "Jobs", "Failures", "Other")
_GROUPS = {"run": "Runs", "savepoint": "Savepoints", "job": "Jobs", "experiment": "Jobs"}
_BAD = ("failed", "killed", "damaged", "unsealed")
_TONES: dict[str, Tone] = {"started": "green", "taken": "blue", "forked": "blue", "begun": "blue", "resumed": "green"}


def page() -> None:
    """Draws the events."""
    with errors_shown():
        with page_header("Events"):
            on = live_switch()
        live(_draw, on)


def _draw() -> None:
    with errors_shown():
        now = session.now_ms()
        happened = session.workspace().events(limit=LIMIT)
        if not happened:
            _none()
            return
        shown = _chosen(happened, now)
        rows = [row(event, place, now, with_job=True) for place, event in enumerate(shown)]
        empty = "No event fits. Choose another kind or job, or clear the filter."
        opened = table(columns(with_job=True), rows, key="events", label="Events", empty=empty, max_height=760)
        if opened:
            open_subject(shown[int(opened)])


def _chosen(happened: Sequence[Event], now: float) -> list[Event]:
    jobs = sorted({event.job for event in happened if event.job})
    with st.container(horizontal=True, vertical_alignment="center", key="events_bar"):
        kind = st.pills("Kind", KINDS, default="All", required=True, key="kind", bind="query-params", label_visibility="collapsed")
        st.html(f'<div class="tm-stamp">updated {formats.clock(now, session.zone())}</div>', width="stretch")
        job = st.selectbox(
            "Job", ["", *jobs], key="job", bind="query-params", format_func=lambda one: one or "All jobs", label_visibility="collapsed",
            width=220,
        )  # fmt: skip
        words = st.text_input(
            "Filter events", key="filter", bind="query-params", placeholder="Filter events", icon=":material/search:", type="search",
            live=True, label_visibility="collapsed", width=240,
        )  # fmt: skip
    wanted = (words or "").casefold().split()
    return [event for event in happened if fits(event, kind or "All", job or "") and all(word in _text(event) for word in wanted)]


def fits(event: Event, kind: str, job: str) -> bool:
    """Whether the event is of this kind and of this job (empty for any)."""
    of_kind = kind == "All" or (kind == "Failures" and tone(event.kind) == "red") or kind == _GROUPS.get(event.kind.split(".")[0], "Other")
    return of_kind and job in ("", event.job)


def _text(event: Event) -> str:
    return f"{event.kind} {event.job or ''} {event.subject} {event.message}".casefold()


def tone(kind: str) -> Tone:
    """Red for what went wrong, a colour for what began, grey for the rest."""
    what = kind.rpartition(".")[2]
    return "red" if what in _BAD else _TONES.get(what, "gray")


def columns(*, with_job: bool) -> tuple[Column, ...]:
    """The columns of a list of events."""
    job = (Column("Job"),) if with_job else ()
    return (Column("When"), Column("Time"), Column("Kind"), *job, Column("What happened", wide=True), Column("About"))


def row(event: Event, place: int, now: float, *, with_job: bool) -> Row:
    """One event; its id is its place in the list."""
    job = (Cell(event.job or formats.MISSING, strong=bool(event.job)),) if with_job else ()
    cells = (
        moment(event.at_ms, now),
        clock(event.at_ms, session.zone(), muted=True),
        Cell(event.kind, tone=tone(event.kind), mono=True),
        *job,
        Cell(event.message, hint=event.message),
        Cell(
            formats.short_id(event.subject) if "-" in event.subject else event.subject or formats.MISSING,
            mono=True,
            muted=True,
            hint=event.subject,
            raw=event.subject,
        ),
    )
    return Row(str(place), cells, navigation.href("job", job=event.job) if event.job else "")


def open_subject(event: Event) -> None:
    """Opens what the event is about: its savepoint, its experiment, its job."""
    if event.subject.startswith("sp-") and not event.kind.endswith((".disposed", ".cleaned")):
        navigation.go("savepoints", savepoint=event.subject)
    if event.subject.startswith("ex-"):
        navigation.go("experiments", experiment=event.subject)
    if event.job:
        navigation.go("job", job=event.job, tab="Logs" if event.kind in ("run.failed", "run.killed") else "")


def _none() -> None:
    says = "Starts, stops, failures, savepoints and forks are listed here as they happen. Start a job to see the first."
    with empty_state("Nothing has happened yet", says, key="events"):
        if st.button("New job", type="primary", icon=":material/add:", key="new_job"):
            navigation.go("new_job")
        command("python -m pipelines run my_job.py --name my_job")
