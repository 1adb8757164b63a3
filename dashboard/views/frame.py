"""The frame around every page, which refreshes itself: running operations (above), the notice of the last action (below)."""

from __future__ import annotations

import streamlit as st

from dashboard import session, undo
from dashboard.dialogs import redraw
from dashboard.views import changes, operations, outcomes
from pipelines.domain.errors import TidemarkError

REFRESH_SECONDS = 2


def draw() -> None:
    """Draws it, and again every two seconds; all of it floats, so the page beneath never moves."""
    st.fragment(_draw, run_every=REFRESH_SECONDS)()


def _draw() -> None:
    if not session.is_open():
        return
    with st.container(key="frame"):
        operations.indicator()
        if _ended() and session.refreshing():
            redraw()
        undo.draw()


def _ended() -> bool:
    """Whether an operation has ended since the page was drawn."""
    try:
        answered = session.refreshing() and changes.see()
        return outcomes.see() or answered
    except TidemarkError as error:
        undo.refuse(error)
        return False
