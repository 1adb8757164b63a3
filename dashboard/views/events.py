"""The events of the workspace and who caused them, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import address, navigation, paging, permitted, session
from dashboard.components.table import Cell, Column, Row, clock, moment, table
from dashboard.views.live import live, live_switch
from dashboard.widgets import Tone, command, empty_state, errors_shown, page_header
from pipelines.domain.access import Role
from pipelines.domain.events import COMMAND, DRIVER, FAILED, FAILURES, OTHER, PAGE, REST, SUPERVISOR
from pipelines.domain.jobs import Event
from pipelines.domain.moments import DAY_MS, HOUR_MS
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.system import ListEvents
from pipelines.words import formats

LIMIT = 1_000
ANY_TIME = "Any time"
KINDS = {"All": "", "Runs": "runs", "Savepoints": "savepoints", "Jobs": "jobs", "Failures": FAILED, "Other": OTHER}
ACTORS = ("", PAGE, COMMAND, REST, SUPERVISOR, DRIVER)
BY = {
    "": "Not recorded",
    PAGE: "Somebody on a page",
    COMMAND: "Somebody at a shell",
    REST: "A call of the REST API",
    SUPERVISOR: "Tidemark by itself",
    DRIVER: "The job's own process",
}
SINCE = {ANY_TIME: 0, "Last hour": HOUR_MS, "Last day": DAY_MS, "Last week": 7 * DAY_MS}
ADDRESS = {
    "kind": address.one_of(*KINDS),
    "since": address.one_of(*SINCE),
    "by": address.one_of(*filter(None, ACTORS)),
    "page": address.NUMBER,
}
_TONES: dict[str, Tone] = {
    "started": "green",
    "taken": "blue",
    "forked": "blue",
    "begun": "blue",
    "resumed": "green",
    "firing": "red",
    "resolved": "green",
}


def page() -> None:
    """Draws the events."""
    with errors_shown():
        with page_header("Events"):
            on = live_switch()
        live(_draw, on)


def _draw() -> None:
    with errors_shown():
        now = session.now_ms()
        if not session.shared(ListEvents(limit=1)):
            _none()
            return
        question = _question(now)
        happened = session.shared(question, by=(replace(question, from_ms=None), now // 1_000))
        cut = paging.cut(happened, session.selected("page"))
        rows = [row(event, place, now, with_job=True) for place, event in enumerate(cut.items)]
        empty = "No event fits. Choose another kind, job or time, or clear the filter."

        def whole() -> list[Row]:
            return [row(event, place, now, with_job=True) for place, event in enumerate(happened)]

        opened = table(columns(with_job=True), rows, key="events", label="Events", empty=empty, cut=cut, whole=whole)
        _older(happened, question.before)
        if opened:
            open_subject(cut.items[int(opened)])


def _older(happened: Sequence[Event], before: str) -> None:
    """The way to what is older than these, and back; nothing where these are all."""
    if len(happened) < LIMIT and not before:
        return
    which = f"{formats.exact(happened[-1].at_ms, session.zone())} to {formats.exact(happened[0].at_ms, session.zone())}" if happened else ""
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="small", key="events_older"):
        st.html(f'<div class="tm-stamp">{which}</div>', width="content")
        st.button("Newest", key="newest", disabled=not before, on_click=session.select, kwargs={"before": "", "page": ""})
        place = happened[-1].cursor if len(happened) == LIMIT else ""
        st.button("Older", key="older", disabled=not place, on_click=session.select, kwargs={"before": place, "page": ""})


def _question(now: float) -> ListEvents:
    """The question that the bar above the table selects; all of it is in the address."""
    jobs = [str(summary.job.name) for summary in session.shared(ListJobs())]
    chosen: Any = {
        "bind": "query-params",
        "label_visibility": "collapsed",
        "on_change": session.select,
        "kwargs": {"page": "", "before": ""},
    }
    with st.container(horizontal=True, vertical_alignment="center", key="events_bar"):
        kind = st.pills("Kind", list(KINDS), default="All", required=True, key="kind", **chosen)
        st.html(f'<div class="tm-stamp">updated {formats.clock(now, session.zone())}</div>', width="stretch")
        since = st.selectbox("Time", list(SINCE), key="since", width=130, **chosen)
        actor = st.selectbox("By", ACTORS, key="by", format_func=lambda name: name or "By anyone", width=140, **chosen)
        job = _job(jobs)
        words = st.text_input(
            "Filter events",
            key="filter",
            placeholder="Filter events",
            icon=":material/search:",
            type="search",
            live=True,
            width=200,
            **chosen,
        )
    back = SINCE.get(since or ANY_TIME, 0)
    from_ms = int(now - back) if back else None
    return ListEvents(job, LIMIT, KINDS.get(kind or "All", ""), words or "", actor or "", from_ms, before=session.selected("before"))


def _job(jobs: Sequence[str]) -> str:
    """The chosen job. The widget is not bound to the address as the others are: Streamlit lets nobody else set a bound name and removes it
    from the address on the way back, and the page of a job uses the same name."""
    chosen = session.selected("job")
    st.session_state["job"] = chosen
    return (
        st.selectbox(
            "Job",
            ["", *sorted({*jobs, chosen} - {""})],
            key="job",
            format_func=lambda name: name or "All jobs",
            label_visibility="collapsed",
            width=200,
            on_change=_choose_job,
        )
        or ""
    )


def _choose_job() -> None:
    session.select(job=st.session_state["job"], page="", before="")


def tone(kind: str) -> Tone:
    """Red for what went wrong, a colour for what began, grey for the rest."""
    what = kind.rpartition(".")[2]
    return "red" if what in FAILURES else _TONES.get(what, "gray")


def columns(*, with_job: bool) -> tuple[Column, ...]:
    """The columns of a list of events."""
    job = (Column("Job"),) if with_job else ()
    return (Column("When"), Column("Time"), Column("Kind"), *job, Column("What happened", wide=True), Column("By"), Column("About"))


def row(event: Event, place: int, now: float, *, with_job: bool) -> Row:
    """One event; its id is its place in the list."""
    job = (Cell(event.job or formats.MISSING, strong=bool(event.job)),) if with_job else ()
    cells = (
        moment(event.at_ms, now),
        clock(event.at_ms, session.zone(), muted=True),
        Cell(event.kind, tone=tone(event.kind), mono=True),
        *job,
        Cell(event.message, hint=event.message),
        Cell(event.actor or formats.MISSING, muted=True, hint=BY.get(event.actor, "")),
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
        if permitted.button("New job", Role.AUTHOR, type="primary", icon=":material/add:", key="new_job"):
            navigation.go("new_job")
        command("python -m pipelines run my_job.py --name my_job")
