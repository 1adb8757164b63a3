"""How far B's metrics are from A's on the same events: medians, the difference with its interval as a bar, and what can be told."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd
import streamlit as st

from dashboard import formats, session
from dashboard.components.frames import save_buttons
from dashboard.views.experiments.reading import Pair
from dashboard.widgets import section
from pipelines.domain.intervals import Interval, Measure

OFTEN_MS = 10_000
"""An interval is computed anew at most this often."""
TITLES = {
    Measure.BATCH_MS: ("Batch time", formats.duration),
    Measure.PROCESSED_RATE: ("Processed", formats.rate),
    Measure.STATE_ROWS: ("State rows", formats.compact),
    Measure.STATE_BYTES: ("State memory", formats.size),
}
WORSE_UP = frozenset({Measure.BATCH_MS})
"""Measures of which more is worse; less is worse of the processed rate; state is neither."""


def draw(pair: Pair) -> None:
    """The table; what it says is as of the last seconds."""
    found = _found(pair)
    section("What differs for sure", "medians over the same events, the difference with its 95 % interval")
    st.html(intervals_table(found))
    save_buttons(intervals_frame(found), name="intervals", key="intervals")


def _found(pair: Pair) -> Sequence[Interval]:
    now, kept = session.now_ms(), st.session_state.get("intervals")
    if kept and kept[0] == pair and now - kept[1] < OFTEN_MS:
        return list(kept[2])
    found = session.workspace().intervals(pair.a, pair.b)
    st.session_state["intervals"] = (pair, now, found)
    return found


def intervals_table(found: Sequence[Interval]) -> str:
    """A row a measure, as HTML; all bars on one scale, with zero in the middle."""
    reach = max([abs(end) for one in found for end in (one.low, one.high) if end is not None], default=0.0) or 1.0
    rows = "".join(_row(one, min(reach, 2.0)) for one in found)
    heads = "<th></th><th>A</th><th>B</th><th>B against A</th><th></th>"
    drawn = f'<table class="tm-intervals"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="tm-wide" tabindex="0" role="region" aria-label="Metrics with intervals">{drawn}</div>'


def intervals_frame(found: Sequence[Interval]) -> pd.DataFrame:
    """A row a measure, for a file: medians in ms, rows a second, rows or bytes; shares of A's median, 0.12 for twelve percent."""
    rows = [(TITLES[one.measure][0], one.a, one.b, one.share, one.low, one.high, one.batches, one.words) for one in found]
    return pd.DataFrame(rows, columns=["Measure", "A", "B", "Share", "Low", "High", "Batches", "What can be told"])


def _row(one: Interval, reach: float) -> str:
    title, shown = TITLES[one.measure]
    cells = f"<td>{escape(shown(one.a))}</td><td>{escape(shown(one.b))}</td><td>{_bar(one, reach)}</td>"
    return f'<tr class="{tone(one)}"><th>{title}</th>{cells}<td>{escape(one.words)}</td></tr>'


def tone(one: Interval) -> str:
    """`worse` or `better` where a difference can be told and means that, `other` where it is told, empty where none is."""
    if not one.told or one.share is None:
        return ""
    if one.measure in (Measure.STATE_ROWS, Measure.STATE_BYTES):
        return "other"
    return "worse" if (one.share > 0) == (one.measure in WORSE_UP) else "better"


def _bar(one: Interval, reach: float) -> str:
    if one.low is None or one.high is None or one.share is None:
        return '<div class="tm-interval"></div>'
    low, at, high = (50 + 48 * max(-1.0, min(1.0, share / reach)) for share in (one.low, one.share, one.high))
    drawn = f'<i style="left:{low:.2f}%;width:{max(high - low, 0.6):.2f}%"></i><b style="left:{at:.2f}%"></b>'
    return f'<div class="tm-interval" role="img" aria-label="{escape(one.words)}">{drawn}</div>'
