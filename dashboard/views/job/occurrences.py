"""The events of a job."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dashboard import navigation, session
from dashboard.components.table import table
from dashboard.views import events
from dashboard.widgets import empty_state
from pipelines.domain.jobs import Event
from pipelines.verbs.system import ListEvents

LIMIT = 500


def draw(name: str, now: float) -> None:
    """Its events, newest first."""
    happened = session.workspace().ask(ListEvents(name, limit=LIMIT))
    if not happened:
        with empty_state(
            "Nothing has happened yet", "Starts, stops, savepoints and failures of this job are listed here.", key="occurrences"
        ):
            pass
        return
    rows = [events.row(event, place, now, with_job=False) for place, event in enumerate(happened)]
    columns, shows = events.columns(with_job=False), partial(_show_log, happened)
    opened = table(columns, rows, key="occurrences", label="Events of this job", max_height=680, on_click=shows)
    if opened:
        events.open_subject(happened[int(opened)])
    if len(happened) == LIMIT:
        navigation.link("events", f"The newest {LIMIT:,}. All events of this job", icon=":material/history:", job=name)


def _show_log(happened: Sequence[Event]) -> None:
    """Opens the log of the run that the clicked event is about, on another tab of this page."""
    clicked = getattr(st.session_state["occurrences"], "row", None)
    if clicked and happened[int(clicked)].kind.startswith("run."):
        st.session_state.update(tab="Logs", run=happened[int(clicked)].subject)
