"""The parts that live pages share: the range of time, the switch that pauses, the fragment that refreshes itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from dashboard import session
from dashboard.widgets import chip
from pipelines.words import formats

RANGES = {"15m": 900_000, "1h": 3_600_000, "6h": 21_600_000, "24h": 86_400_000}
DEFAULT_RANGE = "15m"
REFRESH_SECONDS = 2


def range_switch() -> int:
    """The selected range in ms; its name is in the address."""
    chosen = st.segmented_control(
        "Range", list(RANGES), default=DEFAULT_RANGE, required=True, key="range", bind="query-params", label_visibility="collapsed"
    )
    return RANGES.get(chosen or DEFAULT_RANGE, RANGES[DEFAULT_RANGE])


def live_switch() -> bool:
    """The switch of the refresh. Off is in the address, and goes along from page to page."""
    return st.toggle("Live", value=True, key="live", bind="query-params")


def live(draw: Callable[[], None], on: bool) -> None:
    """Draws, and draws again every two seconds while the page is live; else shows the time of the picture."""
    st.fragment(draw if on else partial(_paused, draw), run_every=REFRESH_SECONDS if on else None)()


def _paused(draw: Callable[[], None]) -> None:
    label = chip(f"Paused, as of {formats.clock(session.now_ms(), session.zone())}", "orange", dot=True)
    st.html(f'<div class="tm-paused" role="status" data-testid="paused">{label}</div>')
    draw()
