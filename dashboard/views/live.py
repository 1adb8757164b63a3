"""What live pages share: the range of time, the switch that pauses, the part that refreshes itself."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

RANGES = {"15m": 900_000, "1h": 3_600_000, "6h": 21_600_000, "24h": 86_400_000}
DEFAULT_RANGE = "15m"
REFRESH_SECONDS = 2


def range_switch() -> int:
    """The range that is looked at, in ms; its name stands in the address."""
    chosen = st.segmented_control(
        "Range", list(RANGES), default=DEFAULT_RANGE, required=True, key="range", bind="query-params", label_visibility="collapsed"
    )
    return RANGES.get(chosen or DEFAULT_RANGE, RANGES[DEFAULT_RANGE])


def live_switch() -> bool:
    """Whether the page refreshes itself."""
    return st.toggle("Live", value=True, key="live")


def live(draw: Callable[[], None], on: bool) -> None:
    """Draws, and draws again every two seconds while the page is live."""
    st.fragment(draw, run_every=REFRESH_SECONDS if on else None)()
