"""The difference of B's metrics from A's on the same events: medians, the difference with its interval as a bar, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.components.frames import save_buttons
from dashboard.views.experiments.shares import Pair
from dashboard.widgets import section
from pipelines.domain.intervals import Interval, Measure
from pipelines.verbs.experiments import ShowIntervals
from pipelines.words import formats, observed

OFTEN_MS = 10_000
"""An interval is computed anew at most this often."""
TITLES = {
    Measure.BATCH_MS: ("Batch time", formats.duration),
    Measure.PROCESSED_RATE: ("Processed", formats.rate),
    Measure.STATE_ROWS: ("State rows", formats.compact),
    Measure.STATE_BYTES: ("State memory", formats.size),
    Measure.OBSERVED: ("Observed", observed.number),
}
WORSE_UP = frozenset({Measure.BATCH_MS})
"""Measures of which more is worse; less is worse of the processed rate; state and what jobs observe is neither."""


def draw(pair: Pair) -> None:
    """The table; what it says is as of the last seconds."""
    intervals = of(pair)
    section("Metric differences (95 %)", "medians over the same events, the difference with its 95 % interval")
    st.html(intervals_table(intervals))
    save_buttons(intervals_frame(intervals), name="intervals", key="intervals")


def of(pair: Pair) -> Sequence[Interval]:
    """How B's metrics differ from A's, as of the last seconds."""
    now, kept = session.now_ms(), st.session_state.get("intervals")
    if kept and kept[0] == pair and now - kept[1] < OFTEN_MS:
        return list(kept[2])
    intervals = session.workspace().ask(ShowIntervals(pair.a, pair.b))
    st.session_state["intervals"] = (pair, now, intervals)
    return intervals


def intervals_table(intervals: Sequence[Interval]) -> str:
    """A row a measure, as HTML; all bars on one scale, with zero in the middle."""
    reach = max([abs(end) for interval in intervals for end in (interval.low, interval.high) if end is not None], default=0.0) or 1.0
    rows = "".join(_row(interval, min(reach, 2.0)) for interval in intervals)
    heads = "<th>Measure</th><th>A</th><th>B</th><th>B against A</th><th>In words</th>"
    drawn = f'<table class="tm-intervals"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="tm-wide" tabindex="0" role="region" aria-label="Metrics with intervals">{drawn}</div>'


def intervals_frame(intervals: Sequence[Interval]) -> pd.DataFrame:
    """A row a measure, for a file: medians in ms, rows a second, rows or bytes; shares of A's median, 0.12 for twelve percent."""
    rows = [
        (_title(interval), interval.a, interval.b, interval.share, interval.low, interval.high, interval.batches, interval.words)
        for interval in intervals
    ]
    return pd.DataFrame(rows, columns=["Measure", "A", "B", "Share", "Low", "High", "Batches", "What can be told"])


def _row(interval: Interval, reach: float) -> str:
    shown = TITLES[interval.measure][1]
    cells = f"<td>{escape(shown(interval.a))}</td><td>{escape(shown(interval.b))}</td><td>{_bar(interval, reach)}</td>"
    return f'<tr class="{tone(interval)}"><th>{escape(_title(interval))}</th>{cells}<td>{escape(interval.words)}</td></tr>'


def _title(interval: Interval) -> str:
    """The measure's name; of a number that the jobs observe its own."""
    return interval.name or TITLES[interval.measure][0]


def tone(interval: Interval) -> str:
    """`worse` or `better` where a difference can be told and means that, `other` where it is told, empty where none is."""
    if not interval.told or interval.share is None:
        return ""
    if interval.measure in (Measure.STATE_ROWS, Measure.STATE_BYTES, Measure.OBSERVED):
        return "other"
    return "worse" if (interval.share > 0) == (interval.measure in WORSE_UP) else "better"


def _bar(interval: Interval, reach: float) -> str:
    if interval.low is None or interval.high is None or interval.share is None:
        return '<div class="tm-interval"></div>'
    low, at, high = (50 + 48 * max(-1.0, min(1.0, share / reach)) for share in (interval.low, interval.share, interval.high))
    drawn = f'<i style="left:{low:.2f}%;width:{max(high - low, 0.6):.2f}%"></i><b style="left:{at:.2f}%"></b>'
    return f'<div class="tm-interval" role="img" aria-label="{escape(interval.words)}">{drawn}</div>'
