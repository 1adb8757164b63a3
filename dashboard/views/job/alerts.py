"""A job's alerts: what fires, its rules beside the workspace's, and its history."""

from __future__ import annotations

import streamlit as st

from dashboard import permitted, session
from dashboard.components.table import table
from dashboard.drawing.figures import TimeMark
from dashboard.views import events
from dashboard.views.alerts import forms, lists
from dashboard.widgets import empty_state, section
from pipelines.domain.access import Role
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.system import ListEvents

HISTORY = 200
MARKED = {"alert.firing": "alert {}", "alert.resolved": "{} over"}


def draw(name: str, now: float) -> None:
    """What holds, the rules, what happened."""
    shown = session.workspace().ask(ShowAlerts(name))
    with st.container(horizontal=True, horizontal_alignment="right", key="alerts_bar"):
        if permitted.button("Silence…", Role.OPERATOR, icon=":material/notifications_off:", type="tertiary", key="silence_job"):
            forms.ask_silence(name, "")
        if permitted.button("New rule…", Role.OPERATOR, icon=":material/add:", type="tertiary", key="new_rule"):
            forms.ask_rule(name, None)
    lists.held(shown, now, with_job=False)
    lists.silences(shown.silences)
    if shown.rules:
        lists.rules(shown, "Rules", "a rule of this job replaces the one of the same name for every job")
    else:
        with empty_state("No rules yet", lists.NO_RULES, key="alerts"):
            pass
    happened = session.shared(ListEvents(name, HISTORY, kind="alert"))
    if happened:
        section("History", f"the newest {HISTORY}" if len(happened) == HISTORY else "")
        rows = [events.row(event, place, now, with_job=False) for place, event in enumerate(happened)]
        table(events.columns(with_job=False), rows, key="alert_history", label="History of alerts", max_height=420, clickable=False)


def marks(name: str, since_ms: float) -> list[TimeMark]:
    """When alerts of the job began to fire, and were over."""
    happened = session.shared(ListEvents(name, HISTORY, kind="alert"))
    return [
        TimeMark(event.at_ms, "alert", MARKED[event.kind].format(event.subject))
        for event in happened
        if event.kind in MARKED and event.at_ms >= since_ms
    ]
