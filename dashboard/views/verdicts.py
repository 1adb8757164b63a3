"""The verdict on changed code, where one decides: the whole, then each operator with its reasons and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import streamlit as st

from dashboard.views import changes, operations
from dashboard.widgets import Tone, chip, errors_shown, message_box
from pipelines.domain.savepoints import Manifest
from pipelines.domain.verdicts import Outcome, Part, Verdict
from pipelines.verbs import fork
from pipelines.verbs.check import Check
from pipelines.verbs.revision import Revision
from pipelines.words import verdicts as words

TONES: Mapping[Outcome, Tone] = {
    Outcome.SAME: "green",
    Outcome.PARTLY_KEPT: "orange",
    Outcome.CHANGED_MEANING: "orange",
    Outcome.CANNOT_TELL: "gray",
    Outcome.NEEDS_REWRITING: "red",
    Outcome.CANNOT_START: "red",
}
CHECK = "fork_check"
HELP = "Spark plans both codes in the sandbox and says what becomes of the state. Nothing runs, and nothing is written."


def draw(verdict: Verdict) -> None:
    """The outcome, a box for each part that is not the same, and what depends on the clock."""
    whole = chip(verdict.outcome, TONES[verdict.outcome], dot=True, hint=words.SENTENCES[verdict.outcome])
    st.html(f'<div class="tm-section"><h2>State</h2>{whole}</div>')
    for part in verdict.parts:
        if part.outcome is not Outcome.SAME:
            message_box(words.subject(part), _text(part), tone=TONES[part.outcome], tag=part.outcome)
    if verdict.varies:
        message_box(words.VARIES, ", ".join(verdict.varies), tone="blue")


def _text(part: Part) -> str:
    return " ".join(filter(None, (*(f"{reason.rstrip('.')}." for reason in part.reasons), part.hint)))


def ask(manifest: Manifest, variant: fork.Variant) -> None:
    """The button that asks for the verdict, and the progress of who has pressed it."""
    key = f"check_{manifest.id}"
    operations.under_way(lambda operation: operation.kind == "check" and operation.subject == manifest.id, key="check")
    busy = changes.is_asked(key)
    with errors_shown():
        if changes.answered(key) is not None:
            st.rerun()
        pressed = st.button("Check", icon=":material/rule:", key=CHECK, disabled=busy, help=changes.BUSY if busy else HELP)
        if pressed and changes.ask(key, _check(manifest, variant), f"The code was checked against {manifest.id}") is not None:
            st.rerun()


def _check(manifest: Manifest, variant: fork.Variant) -> Check:
    revised = {part.name: getattr(variant, part.name) for part in fields(Revision)}
    return Check(manifest.id, new_queries=variant.new_queries, **revised)
