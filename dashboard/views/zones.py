"""The time zone that all pages tell their times in: named in the top bar, with the switch to UTC."""

from __future__ import annotations

from datetime import UTC

import streamlit as st

from dashboard import session

HELP = "The time zone of every time on every page, in downloads and in pictures"


def switch() -> None:
    """Draws the name of the zone, and beside it UTC; where the browser is in UTC there is nothing to choose."""
    own = session.browser_zone()
    with st.container(key="zone_frame"), st.container(key="zone_bar"):
        if own is UTC or str(own) == session.IN_UTC:
            st.html('<span class="tm-zone" title="Every time is in UTC">UTC</span>')
            return
        st.segmented_control(
            "Time zone",
            [LOCAL, session.IN_UTC],
            default=LOCAL,
            required=True,
            format_func={LOCAL: place(str(own)), session.IN_UTC: "UTC"}.__getitem__,
            key=session.ZONE,
            bind="query-params",
            help=HELP,
            label_visibility="collapsed",
        )


LOCAL = "local"


def place(zone: str) -> str:
    """The place that a zone is named after: `Berlin`, `New York`."""
    return zone.rpartition("/")[2].replace("_", " ")
