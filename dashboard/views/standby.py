"""What stands above every page of a standby."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.dialogs import redraw

REFRESH_SECONDS = 1


def banner() -> None:
    """Draws it, and the page anew when this server takes over. Nothing on the active server, which never becomes a standby."""
    if session.is_standby():
        st.fragment(_draw, run_every=REFRESH_SECONDS)()


def _draw() -> None:
    if not session.is_open():
        return
    if not session.is_standby():
        redraw()
        return
    active = session.active()
    named = f"Standby of {f'[{active}]({active})' if '://' in active else active}" if active else "Standby"
    st.warning(
        f"**{named}: reads only.** It takes over when that server ends. Operations under way are shown there alone.",
        icon=":material/content_copy:",
    )
