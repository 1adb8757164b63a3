"""The verdict on changed code, where one decides: the whole, then each operator with its reasons and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import streamlit as st

from dashboard.views import changes, operations
from dashboard.widgets import Tone, chip, errors_shown, message_box
from pipelines.domain.restores import RestorePlan
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


def of_plan(plan: RestorePlan, variant: fork.Variant) -> None:
    """What becomes of the state, or the button that asks; nothing where no savepoint stands for it."""
    if plan.verdict is not None:
        draw(plan.verdict)
    elif plan.judged is not None:
        ask(plan.judged, variant)


def _text(part: Part) -> str:
    return " ".join(filter(None, (*(f"{reason.rstrip('.')}." for reason in part.reasons), part.hint)))


def ask(savepoint: str, variant: fork.Variant) -> None:
    """The button that asks for the verdict, and the progress of who has pressed it."""
    key = f"check_{savepoint}"
    operations.under_way(lambda operation: operation.kind == "check" and operation.subject == savepoint, key="check")
    busy = changes.is_asked(key)
    with errors_shown():
        if changes.answered(key) is not None:
            st.rerun()
        pressed = st.button("Check", icon=":material/rule:", key=CHECK, disabled=busy, help=changes.BUSY if busy else HELP)
        if pressed and changes.ask(key, _check(savepoint, variant), f"The code was checked against {savepoint}") is not None:
            st.rerun()


def _check(savepoint: str, variant: fork.Variant) -> Check:
    revised = {part.name: getattr(variant, part.name) for part in fields(Revision)}
    return Check(savepoint, new_queries=variant.new_queries, **revised)
