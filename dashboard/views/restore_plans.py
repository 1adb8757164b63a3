"""A restore plan, as it is shown before anything starts: files, bytes, query id, each sink, warnings."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard.widgets import Tone, chip, facts, message_box
from pipelines.domain.savepoints import RestorePlan, SinkPlan
from pipelines.words import formats

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
    """The plan of one sink as HTML: query, format, action and reason."""
    words, tone = ACTIONS.get(sink.action, (sink.action, "gray"))
    chips = (chip(sink.sink, mono=True) if sink.sink else "") + chip(words, tone)
    head = f'<div class="tm-head"><strong>{escape(sink.query)}</strong>{chips}</div>'
    return f'<div class="tm-sink">{head}<p>{escape(sink.message)}</p></div>'


def warnings(plan: RestorePlan) -> None:
    """The warnings of the plan, without those that a sink shows already."""
    sink_messages = {f"{sink.query}: {sink.message}" for sink in plan.sinks} | {sink.message for sink in plan.sinks}
    for warning in plan.warnings:
        if warning not in sink_messages:
            message_box(warning, tone="orange")


def refusal(plan: RestorePlan | None) -> str:
    """Why the plan cannot be carried out; empty where it can."""
    return f"{plan.refusal.message} {plan.refusal.hint}".strip() if plan and plan.refusal else ""
