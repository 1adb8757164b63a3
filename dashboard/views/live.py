"""The parts that live pages share: the range of time, the switch that pauses, the fragment that refreshes itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from dashboard import session
from dashboard.widgets import chip
from pipelines.words import formats

RANGES = {"15m": 900_000, "1h": 3_600_000, "6h": 21_600_000, "24h": 86_400_000, "7d": 604_800_000, "30d": 2_592_000_000}
DEFAULT_RANGE = "15m"
RANGE, _KEPT = "range", "range_kept"
REFRESH_SECONDS = 2


def range_switch() -> int:
    """The selected range in ms; its name is in the address, and stays the choice where the switch is not shown for a while."""
    if RANGE not in st.session_state and RANGE not in st.query_params and st.session_state.get(_KEPT) in RANGES:
        st.session_state[RANGE] = st.session_state[_KEPT]
    chosen = st.segmented_control(
        "Range", list(RANGES), default=DEFAULT_RANGE, required=True, key=RANGE, bind="query-params", label_visibility="collapsed",
        on_change=session.select, kwargs={"from": "", "to": ""},
    )  # fmt: skip
    st.session_state[_KEPT] = chosen or DEFAULT_RANGE
    return range_ms()


def range_ms() -> int:
    """The range that was chosen last, in ms: of the address, else of the visit."""
    named = (st.session_state.get(RANGE), session.selected(RANGE), st.session_state.get(_KEPT))
    return next((RANGES[name] for name in named if name in RANGES), RANGES[DEFAULT_RANGE])


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
