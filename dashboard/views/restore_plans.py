"""What a restore would do, as it is shown before anything starts: files, bytes, query id, each sink, what may surprise."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import formats
from dashboard.widgets import Tone, chip, facts, message_box
from pipelines.domain.savepoints import RestorePlan, SinkPlan

ACTIONS: dict[str, tuple[str, Tone]] = {
    "continue": ("continued", "green"),
    "fresh": ("begins empty", "blue"),
    "cut": ("cut back", "orange"),
    "none": ("yours", "gray"),
    "refuse": ("refused", "red"),
}
"""What happens with a sink, in a word and its tone."""
KEPT = "The point it stands at now is kept as a savepoint first, so nothing is lost."
"""Of a resume that goes back in time."""


def draw(plan: RestorePlan) -> None:
    """Facts, sinks, warnings."""
    outline(plan)
    for sink in plan.sinks:
        st.html(sink_words(sink))
    warnings(plan)


def outline(plan: RestorePlan) -> None:
    """Files, bytes and the query id."""
    facts(
        [
            ("State", f"{formats.plural(plan.files, 'file')}, {formats.size(plan.bytes)}"),
            ("New bytes", f"{formats.size(plan.new_bytes)} (by {escape(plan.how)})"),
            ("Query id", "kept" if plan.keeps_query_id else "a new one"),
        ]
    )


def sink_words(sink: SinkPlan) -> str:
    """One sink as HTML: its query, its format, what happens with it, and why."""
    said, tone = ACTIONS.get(sink.action, (sink.action, "gray"))
    chips = (chip(sink.sink, mono=True) if sink.sink else "") + chip(said, tone)
    head = f'<div class="tm-head"><strong>{escape(sink.query)}</strong>{chips}</div>'
    return f'<div class="tm-sink">{head}<p>{escape(sink.message)}</p></div>'


def warnings(plan: RestorePlan) -> None:
    """What will happen and may surprise; what a sink says already is not said again."""
    said = {f"{sink.query}: {sink.message}" for sink in plan.sinks} | {sink.message for sink in plan.sinks}
    for warning in plan.warnings:
        if warning not in said:
            message_box(warning, tone="orange")


def refusal(plan: RestorePlan | None) -> str:
    """Why it would be refused because of a sink; empty where none is."""
    refused = next((sink for sink in plan.sinks if sink.action == "refuse"), None) if plan else None
    return refused.message if refused else ""
