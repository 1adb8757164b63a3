"""One job: its state, the actions on it, and its history."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import address, navigation, notices, session
from dashboard.dialogs import redraw
from dashboard.health import health
from dashboard.views import operations
from dashboard.views.job import (
    actions,
    alerts,
    batches,
    configuration,
    failure,
    findings,
    header,
    heat,
    logs,
    metrics,
    occurrences,
    operators,
    points,
    savepoints,
    script,
    state,
    versions,
    watched,
)
from dashboard.views.live import RANGES, live
from dashboard.widgets import command, empty_state, error_box, errors_shown, message_box, page_header
from pipelines.domain.errors import NotFound
from pipelines.domain.jobs import JobDetail
from pipelines.verbs.jobs import ShowJob
from pipelines.words import probations

STREAMING = ("Metrics", "Operators", "State", "Batches", "Savepoints", "Versions", "Logs", "Configuration", "Alerts", "Events")
SCRIPT = ("Run", "Versions", "Logs", "Configuration", "Alerts", "Events")
WATCHED = ("Metrics", "Operators", "State", "Batches", "Savepoints", "Configuration", "Alerts", "Events")
"""Of a job that runs elsewhere there is no log, and no run of ours."""
IN_PLACE = ("input-rows", "look-up")
"""Operations whose progress stands where their answer will."""
ADDRESS = {
    "range": address.one_of(*RANGES),
    "from": address.MOMENT,
    "to": address.MOMENT,
    "at": address.NUMBER,
    "yesterday": address.SWITCH,
    "measure": address.one_of(*heat.MEASURES),
    "axis": address.one_of(*points.AXES),
    "level": address.one_of(*logs.LEVELS),
    "wrap": address.SWITCH,
    "line": address.NUMBER,
    "view": address.one_of(*versions.VIEWS),
    "batches": address.NUMBER,
    "runs_page": address.NUMBER,
    "failures_page": address.NUMBER,
    "states_page": address.NUMBER,
}


def page() -> None:
    """Draws the job that the address names."""
    name = session.selected("job")
    if not name:
        _choose()
        return
    head = st.container()
    actions.see(name)
    notices.draw(name)  # before the job is asked for: what a click began is shown at once
    try:
        detail = session.shared(ShowJob(name))
    except NotFound as error:
        _gone(name, error)
        return
    with errors_shown():
        _draw(name, detail, head)


def _draw(name: str, detail: JobDetail, head: DeltaGenerator) -> None:
    with head:
        on = header.draw(name, detail)
    operations.under_way(lambda operation: operation.job == name and operation.kind not in IN_PLACE, key="job")
    live(lambda: _live(name, _shape(detail)), on)


def _live(name: str, shape: object) -> None:
    """The part that refreshes itself; where the job has become another (ended, started, new version) the whole page is drawn anew."""
    with errors_shown():
        detail = session.shared(ShowJob(name))
        if _shape(detail) != shape:
            redraw()
        now = session.now_ms()
        header.line(detail, now)
        watched.draw(detail)
        failure.draw(name, detail)
        if notice := probations.notice(detail):
            message_box(*notice, tone="blue")
        findings.draw(detail, now)
        _tabs(name, detail, now)


def _tabs(name: str, detail: JobDetail, now: float) -> None:
    titles = _titles(detail)
    _unknown_tab(titles)
    tabs = st.tabs(titles, key="tab", on_change="rerun", bind="query-params")
    drawn = {
        "Metrics": lambda: metrics.draw(name, detail, now),
        "Operators": lambda: operators.draw(name, detail, now),
        "State": lambda: state.draw(name, detail, now),
        "Run": lambda: script.draw(name, detail, now),
        "Batches": lambda: batches.draw(name, detail, now),
        "Savepoints": lambda: savepoints.draw(name, detail, now),
        "Versions": lambda: versions.draw(name, detail, now),
        "Logs": lambda: logs.draw(name, detail),
        "Configuration": lambda: configuration.draw(detail, now),
        "Alerts": lambda: alerts.draw(name, now),
        "Events": lambda: occurrences.draw(name, now),
    }
    for tab, title in zip(tabs, titles, strict=True):
        if tab.open:
            with tab, errors_shown():
                drawn[title]()


def _unknown_tab(titles: Sequence[str]) -> None:
    """Says so where the address names a tab that this page does not have; Streamlit then takes it out of the address."""
    named = session.selected("tab")
    if named and named not in titles:
        st.session_state["unknown_tab"] = named
    if not session.refreshing() and not named:
        st.session_state.pop("unknown_tab", None)
    if unknown := st.session_state.get("unknown_tab"):
        message_box(f"This page has no tab {unknown}", f"It has {', '.join(titles)}.", tone="orange")


def _titles(detail: JobDetail) -> tuple[str, ...]:
    if detail.summary.job.attached:
        return WATCHED
    return STREAMING if header.streams(detail) else SCRIPT


def _shape(detail: JobDetail) -> tuple[object, ...]:
    """The values that the page outside the live part depends on."""
    run = detail.summary.run
    summary = detail.summary
    return (health(summary), summary.state, run.id if run else "", run.ui_url if run else "", header.streams(detail), len(detail.runs))


def _choose() -> None:
    with page_header("Job"):
        pass
    says = "A job is a named streaming application that lives through many versions. Its page opens from the overview's table."
    with empty_state("No job is chosen", says, key="job"):
        navigation.link("overview", "Open the overview", icon=":material/monitoring:")


def _gone(name: str, error: NotFound) -> None:
    with page_header(name):
        navigation.link("overview", "All jobs", icon=":material/arrow_back:")
    error_box(error)
    command("python -m pipelines list")
