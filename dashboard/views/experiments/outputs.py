"""The outputs of A and B compared: how many rows are equal, what differs over event time, examples."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Literal

import streamlit as st

from dashboard import session
from dashboard.components.frames import save_buttons
from dashboard.components.panel import folded_charts
from dashboard.drawing.comparisons import outputs_over_time
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views.experiments.comparisons import Compared, compared
from dashboard.views.experiments.sentence import waits
from dashboard.views.experiments.shares import PARTS, Pair, bar, examples_frame, parting_frame, parting_table, share, tinted, whole
from dashboard.widgets import chip, close, error_box, message_box, popover, section, when
from pipelines.domain.errors import TidemarkError
from pipelines.domain.experiments import Comparison
from pipelines.verbs.experiments import Compare
from pipelines.words import formats, lockstep, verdicts

MEASURES = 4
MOST_ROWS = 8
AS_WRITTEN = "times in the rows are as they were written, in UTC"
"""An output does not say whether a time of it is a moment or one on a wall, so the rows' are left as they are."""


def asked(pair: Pair) -> Compare:
    """The comparison of A and B, by the key columns that the address names."""
    return Compare(pair.a, pair.b, keys=tuple(filter(None, session.selected("keys").split(","))))


def draw(pair: Pair) -> None:
    """Draws figures, bar, charts and examples; or why there are none."""
    last = compared(asked(pair))
    outcome = last.outcome
    if isinstance(outcome, TidemarkError):
        section("Outputs")
        _refused(outcome)
        return
    _head(outcome, last)
    key_figures(_figures(outcome), min_width=150)
    st.html(bar(outcome))
    for text in filter(None, (lockstep.cause(outcome), outcome.note)):
        st.caption(text)
    if outcome.varies:
        message_box(verdicts.VARIES, ", ".join(outcome.varies), tone="blue")
    _over_time(outcome)
    _first_batch(outcome)
    _parting(outcome)
    _examples(outcome)


def _refused(error: TidemarkError) -> None:
    if waits(error):
        message_box("Waiting for the first batch", f"{error.message}. The outputs are compared as soon as both have rows.", tone="blue")
    else:
        error_box(error)


def _head(comparison: Comparison, compared: Compared) -> None:
    until = (
        f"up to event time {formats.exact(comparison.until_ms, session.zone())}, which both have reached · " if comparison.until_ms else ""
    )
    with st.container(horizontal=True, vertical_alignment="center", key="outputs_head"):
        section("Outputs", f"query {comparison.query} · {until}compared {when(compared.at_ms, session.now_ms())}")
        with popover("Key columns", icon=":material/key:", type="tertiary", key="compare_keys_button", help="Columns that identify a row"):
            by = [name for name in comparison.keys if name in comparison.columns]
            chosen = st.multiselect("Key columns", comparison.columns, default=by, key="compare_keys")
            st.caption("A row whose key both have, with other values, counts as changed. Without a key, whole rows are compared.")
            if st.button("Compare by these columns", key="compare_by", disabled=tuple(chosen) == tuple(comparison.keys)):
                session.select(keys=",".join(chosen))
                close("compare_keys_button")
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


def _first_batch(comparison: Comparison) -> None:
    """Of two in lock-step, the rows that part in the first batch whose rows do, the key with both values."""
    stepped = comparison.lock_step
    if stepped is None or stepped.first is None:
        return
    of_batch = replace(comparison, examples=stepped.examples)
    with st.container(border=True, key="card_first_batch"):
        by = f"by {', '.join(stepped.keys)}" if stepped.keys else "as whole rows"
        section(f"First batch that differs: {stepped.first:,}", f"its rows alone, {by} · {AS_WRITTEN}")
        for kind, name in PARTS:
            if stepped.examples.get(kind):
                frame = examples_frame(of_batch, kind)
                st.caption(name)
                shown = tinted(frame) if kind == "changed" else frame
                st.dataframe(shown, hide_index=True, key=f"first_batch_{kind}", placeholder="=", alt=f"First batch that differs: {name}")
                save_buttons(frame, name=f"first_batch_{kind}", key=f"first_batch_{kind}")


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
    parting = comparison.parting
    parts_ms = parting.at_ms if parting is not None and parting.time_column == over.time_column else None
    charts = {
        f"output_{name}": outputs_over_time(
            f"{name} by {over.time_column}", over.t, over.a[name], over.b.get(name, ()), ("A", "B"), parts_ms
        )
        for name in list(over.a)[:MEASURES]
    }
    folded_charts(charts)


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
