"""The events of the workspace and who caused them, newest first unless somebody sorts them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import address, navigation, permitted, session
from dashboard.components.table import Cell, Column, Paged, Row, clock, moment, table
from dashboard.paging import Key
from dashboard.views import narrowing, ranges
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
ADDRESS = {"kind": address.one_of(*KINDS), "since": address.one_of(*SINCE), "page": address.NUMBER, **narrowing.ADDRESS}
EXACT = narrowing.Text("Exact kind", "run.failed, or alert", "A kind, or its first word: of all kinds, whatever is chosen in the bar")
KEYS: Mapping[str, Key[Event]] = {
    "When": lambda event: event.at_ms,
    "Time": lambda event: event.at_ms,
    "Kind": lambda event: event.kind,
    "Job": lambda event: event.job or None,
    "What happened": lambda event: event.message,
    "By": lambda event: event.actor or None,
    "About": lambda event: event.subject or None,
}
"""What each column is sorted by."""
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
        question, by = _question(now)
        happened = session.shared(question, by=by)
        cut = narrowing.page(happened, KEYS, narrowing.order(KEYS))
        opened = table(
            columns(with_job=True),
            Paged(cut, lambda shown: _rows(shown, now)),
            key="events",
            label="Events",
            empty="No event fits. Choose another kind, job, time or actor, or clear the filters.",
        )
        further = happened[-1].cursor if len(happened) == LIMIT else ""
        narrowing.turn([event.at_ms for event in happened], further, question.sort, key="events")
        if opened:
            open_subject(cut.items[int(opened)])


def _rows(happened: Sequence[Event], now: float) -> list[Row]:
    return [row(event, place, now, with_job=True) for place, event in enumerate(happened)]


def _question(now: float) -> tuple[ListEvents, Hashable]:
    """The question that the bar above the table selects, and what it is shared by; all of it is in the address."""
    jobs = [str(summary.job.name) for summary in session.shared(ListJobs())]
    chosen: Any = {"bind": "query-params", "label_visibility": "collapsed", "on_change": narrowing.begin_anew}
    with st.container(horizontal=True, vertical_alignment="center", key="events_bar"):
        kind = st.pills("Kind", list(KINDS), default="All", required=True, key="kind", **chosen)
        st.html(f'<div class="tm-stamp">updated {formats.clock(now, session.zone())}</div>', width="stretch")
        since = st.selectbox("Time", list(SINCE), key="since", width=130, **{**chosen, "on_change": _choose_since})
        actor = st.selectbox(
            "By",
            ACTORS,
            key="by",
            format_func=lambda name: name or "By anyone",
            accept_new_options=True,
            width=140,
            **chosen,
        )
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
        exact = narrowing.more({"exact": EXACT}, key="events_filters")["exact"]
    back = SINCE.get(since or ANY_TIME, 0)
    begin, end = ranges.ends()
    if begin is None and end is None and back:
        begin = now - back
    question = ListEvents(
        job,
        LIMIT,
        exact or KINDS.get(kind or "All", ""),
        words or "",
        actor or "",
        None if begin is None else int(begin),
        None if end is None else int(end),
        before=session.selected("before"),
        sort=narrowing.sort(narrowing.order(KEYS)),
    )
    return question, (replace(question, from_ms=None), back, now // 1_000) if back else question


def _choose_since() -> None:
    """The last hour, day or week: in place of a stretch that was chosen."""
    ranges.choose(None)


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
    session.select(job=st.session_state["job"])
    narrowing.begin_anew()


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
