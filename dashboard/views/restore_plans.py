"""A restore plan, as it is shown before anything starts: files, bytes, query id, each sink, warnings."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard.widgets import Tone, chip, error_box, message_box, plain_facts
from pipelines.domain.restores import RestorePlan, SinkPlan
from pipelines.words import plans

TONES: dict[str, Tone] = {
    "continue": "green",
    "fresh": "blue",
    "own": "blue",
    "cut": "orange",
    "swap": "orange",
    "none": "gray",
    "refuse": "red",
}
"""Action of a sink's plan -> its tone."""


def draw(plan: RestorePlan) -> None:
    """Facts, sinks, warnings, and why it cannot be done."""
    described(plan)
    refusal(plan)


def described(plan: RestorePlan) -> None:
    """Facts, sinks, warnings."""
    plain_facts(plans.restore(plan))
    for sink in plan.sinks:
        st.html(sink_words(sink))
    warnings(plan)


def refusal(plan: RestorePlan) -> None:
    """Why it cannot be done, and what would help, where no sink of it says that."""
    refused = plan.refusal
    if refused is not None and not any(sink.action == "refuse" and refused.message in sink.message for sink in plan.sinks):
        error_box(refused.error)


def sink_words(sink: SinkPlan) -> str:
    """The plan of one sink as HTML: query, format, action and reason."""
    action = chip(plans.SINKS.get(sink.action, sink.action), TONES.get(sink.action, "gray"))
    chips = (chip(sink.sink, mono=True) if sink.sink else "") + action
    head = f'<div class="tm-head"><strong>{escape(sink.query)}</strong>{chips}</div>'
    return f'<div class="tm-sink">{head}<p>{escape(sink.message)}</p></div>'


def warnings(plan: RestorePlan) -> None:
    """A box for each warning that no sink says already."""
    for warning in plan.further_warnings:
        message_box(warning, tone="orange")
