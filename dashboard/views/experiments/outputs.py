"""The outputs of A and B compared: how many rows are equal, what differs over event time, examples."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import streamlit as st

from dashboard import session
from dashboard.components.frames import save_buttons
from dashboard.components.panel import panel
from dashboard.drawing.comparisons import outputs_over_time
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views.experiments.reading import PARTS, Pair, bar, examples_frame, parting_frame, parting_table, share, tinted, whole
from dashboard.widgets import chip, error_box, section, when
from pipelines.domain.errors import TidemarkError
from pipelines.domain.experiments import Comparison
from pipelines.verbs.experiments import Compare
from pipelines.words import formats

OFTEN_MS = 4_000
SHARE_OF_TIME = 10
"""A comparison reads both outputs: it may take at most a tenth of the time."""
MEASURES = 4
MOST_ROWS = 8
AS_WRITTEN = "times in the rows are as they were written, in UTC"
"""An output does not say whether a time of it is a moment or one on a wall, so the rows' are left as they are."""


@dataclass(frozen=True)
class Compared:
    """A comparison, or its refusal, as of `at_ms`."""

    asked: Compare
    outcome: Comparison | TidemarkError
    at_ms: float
    took_ms: float


def draw(pair: Pair) -> Comparison | None:
    """Draws figures, bar, charts and examples; returns the comparison, None where it was refused."""
    compared = _compared(Compare(pair.a, pair.b, keys=_keys()))
    outcome = compared.outcome
    if isinstance(outcome, TidemarkError):
        section("Outputs")
        error_box(outcome)
        return None
    _head(outcome, compared)
    key_figures(_figures(outcome), min_width=150)
    st.html(bar(outcome))
    if outcome.note:
        st.caption(outcome.note)
    _parting(outcome)
    _over_time(outcome)
    _examples(outcome)
    return outcome


def _keys() -> tuple[str, ...]:
    return tuple(filter(None, session.selected("keys").split(",")))


def _compared(asked: Compare) -> Compared:
    """The last comparison while it is young, else a new one."""
    now = session.now_ms()
    kept: Compared | None = st.session_state.get("compared")
    if kept and kept.asked == asked and now - kept.at_ms < max(OFTEN_MS, SHARE_OF_TIME * kept.took_ms):
        return kept
    began = time.perf_counter()
    try:
        outcome: Comparison | TidemarkError = session.workspace().ask(asked)
    except TidemarkError as error:
        outcome = error
    made = Compared(asked, outcome, session.now_ms(), (time.perf_counter() - began) * 1_000)
    st.session_state["compared"] = made
    return made


def _head(comparison: Comparison, compared: Compared) -> None:
    until = (
        f"up to event time {formats.exact(comparison.until_ms, session.zone())}, which both have reached · " if comparison.until_ms else ""
    )
    with st.container(horizontal=True, vertical_alignment="center", key="outputs_head"):
        section("Outputs", f"query {comparison.query} · {until}compared {when(compared.at_ms, session.now_ms())}")
        with st.popover("Keys", icon=":material/key:", type="tertiary", key="compare_keys_button", help="Which columns name a row"):
            by = [name for name in comparison.keys if name in comparison.columns]
            chosen = st.multiselect("Key columns", comparison.columns, default=by, key="compare_keys")
            st.caption("Rows with one key and other values are changed. Without a key rows are compared whole.")
            if st.button("Compare by these", key="compare_by", disabled=tuple(chosen) == tuple(comparison.keys)):
                session.select(keys=",".join(chosen))
                st.rerun()


def _figures(comparison: Comparison) -> list[KeyFigure]:
    total = whole(comparison)
    by = f"by {', '.join(comparison.keys)}" if comparison.keys else "as whole rows"
    return [
        KeyFigure("Agreement", share(comparison.equal, total), note=by, hint=f"Rows are compared {by}"),
        KeyFigure("Rows equal", formats.count(comparison.equal), note=f"of {total:,}"),
        KeyFigure("Changed", formats.count(comparison.changed), note="same key, other values"),
        KeyFigure("Only in A", formats.count(comparison.only_a), note=f"of {comparison.rows_a:,} rows"),
        KeyFigure("Only in B", formats.count(comparison.only_b), note=f"of {comparison.rows_b:,} rows"),
    ]


def _parting(comparison: Comparison) -> None:
    """The first difference in event time, with the row of each side."""
    parting = comparison.parting
    if parting is None:
        if whole(comparison) and comparison.until_ms:
            st.html(f'<div class="tm-head">{chip("no difference", "green", dot=True)}<span class="tm-caption">in any row</span></div>')
        return
    with st.container(border=True, key="card_parting"):
        at, until = (formats.exact(at_ms, session.zone()) for at_ms in (parting.at_ms, parting.equal_until_ms))
        equal = f"equal up to {until}" if parting.equal_until_ms is not None else "no earlier row is equal"
        note = f'<span class="tm-caption">{escape(parting.time_column)} · {equal} · {AS_WRITTEN}</span>'
        st.html(f'<div class="tm-section"><h2>First difference at {at}</h2>{note}</div>')
        st.html(parting_table(parting))
        save_buttons(parting_frame(parting), name="first_difference", key="parting")


def _over_time(comparison: Comparison) -> None:
    over = comparison.over_time
    if over is None:
        return
    measures = list(over.a)[:MEASURES]
    for name, cell in zip(measures, _cells(len(measures)), strict=False):
        with cell:
            title = f"{name} by {over.time_column}"
            chart = outputs_over_time(title, over.t, over.a[name], over.b.get(name, ()), ("A", "B"))
            panel(chart, key=f"output_{name}", group="event_time")


def _cells(count: int) -> Sequence[st.delta_generator.DeltaGenerator]:
    return st.columns(max(min(count, 3), 1), gap="small") if count < 4 else [*st.columns(2, gap="small"), *st.columns(2, gap="small")]


def _examples(comparison: Comparison) -> None:
    kinds = [(kind, name) for kind, name in PARTS if comparison.examples.get(kind)]
    if not kinds:
        if whole(comparison):
            st.caption("No row differs.")
        return
    st.caption(f"Examples of each kind; {AS_WRITTEN}.")
    tabs = st.tabs([f"{name} ({getattr(comparison, kind):,})" for kind, name in kinds], key="examples")
    for (kind, _), tab in zip(kinds, tabs, strict=True):
        with tab:
            frame = examples_frame(comparison, kind)
            shown = tinted(frame) if kind == "changed" else frame
            height: Literal["content"] | int = "content" if len(frame) <= MOST_ROWS else 322
            st.dataframe(shown, hide_index=True, key=f"examples_{kind}", height=height, placeholder="=", alt=f"Examples: {kind}")
            save_buttons(frame, name=f"examples_{kind}", key=f"examples_{kind}")
