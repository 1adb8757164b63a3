"""The verdict on changed code, where one decides: the whole, then each operator with its reasons and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from html import escape

import streamlit as st

from dashboard import permitted
from dashboard.drawing.verdicts import TONES
from dashboard.views import changes, operations
from dashboard.widgets import chip, errors_shown, message_box
from pipelines.domain.access import Role
from pipelines.domain.plan_differences import PlanDifference
from pipelines.domain.restores import RestorePlan
from pipelines.domain.verdicts import Outcome, Part, Verdict
from pipelines.verbs import fork
from pipelines.verbs.check import Check
from pipelines.verbs.revision import Revision
from pipelines.words import verdicts as words

CHECK = "fork_check"
FOLLOW = "fork_check_follows"
FOLLOW_HELP = "At each pause the script runs as far as its queries' plans, with what it does besides. The first check starts a Spark."
PREVIOUS = "Of the text before the last change; the present one is not checked yet."
UNCHECKED = "It is checked before it starts: where it cannot start on this state nothing is begun."
HELP = "Spark plans both codes in the sandbox and says what becomes of the state. Nothing runs, and nothing is written."


def draw(verdict: Verdict | PlanDifference, *, title: str = "State", is_open: bool = False, is_previous: bool = False) -> None:
    """The outcome, a box for each part that is not the same, what depends on the clock, and the operators of both codes, folded where
    all are the same unless `is_open`. One of a text that was changed since says so, and has no colour."""
    tone = "gray" if is_previous else TONES[verdict.outcome]
    whole = chip(verdict.outcome, tone, dot=True, hint=words.SENTENCES[verdict.outcome])
    st.html(f'<div class="tm-section"><h2>{title}</h2>{whole}</div>')
    if is_previous:
        st.caption(PREVIOUS)
    for part in verdict.parts:
        if part.outcome is not Outcome.SAME:
            message_box(words.subject(part), _text(part), tone=TONES[part.outcome], tag=part.outcome)
    if verdict.varies:
        message_box(words.VARIES, ", ".join(verdict.varies), tone="blue")
    if verdict.operators:
        with st.expander("Operators before and now", expanded=is_open or verdict.outcome is not Outcome.SAME):
            st.html(operators_table(verdict))


def operators_table(verdict: Verdict | PlanDifference) -> str:
    """The stateful operators of both codes side by side, each beside the one that goes on with its state; what differs is marked."""
    rows = ""
    for pair in verdict.operators:
        sides = (words.operator(pair.before, words.alone(pair)), words.operator(pair.after, words.alone(pair)))
        same = pair.before is not None and pair.after is not None and pair.before.operator == pair.after.operator
        rows += _row(pair.query, *sides, differs=not same)
        lines = words.side_by_side(pair)
        if words.keeps_same_state(verdict, pair) and any(was != now for _, was, now in lines):
            rows += _row("state", words.SAME_STATE, words.SAME_STATE, differs=False)
        rows += "".join(_row(what, was, now, differs=was != now) for what, was, now in lines)
    return f'<table class="tm-both"><thead><tr><th></th><th>Before</th><th>Now</th></tr></thead><tbody>{rows}</tbody></table>'


def _row(name: str, before: str, after: str, *, differs: bool) -> str:
    marked = ' class="differs"' if differs else ""
    return f"<tr{marked}><th>{escape(name)}</th><td>{escape(before)}</td><td>{escape(after)}</td></tr>"


def mark(plans: Mapping[str, RestorePlan | None]) -> None:
    """The outcome of each variant, by its letter, as a chip, for where all start; nothing of one that has no plan."""
    chips = [_mark(plan, f"{letter}: " if len(plans) > 1 else "") for letter, plan in plans.items() if plan is not None]
    if any(chips):
        st.html(f'<div class="tm-head">{"".join(chips)}</div>', width="content")


def _mark(plan: RestorePlan, name: str) -> str:
    """The outcome; of code that nobody has checked so far, that; empty where there is nothing to check it against."""
    if plan.verdict is not None:
        outcome = plan.verdict.outcome
        return chip(f"{name}{outcome}", TONES[outcome], dot=True, hint=words.SENTENCES[outcome])
    return chip(f"{name}not checked yet", "gray", dot=True, hint=UNCHECKED) if plan.judged is not None else ""


def of_plan(plan: RestorePlan, variant: fork.Variant, key: str) -> None:
    """What becomes of the state, and what asks for it; of text that was not checked yet, the verdict on the text before, which is kept
    under the `key` of what is edited.

    Nothing where no savepoint stands for the state."""
    if plan.verdict is not None:
        draw(plan.verdict)
    if plan.judged is None:
        return
    check, last = _check(plan.judged, variant), st.session_state.get(_previous(key))
    if plan.verdict is not None:
        st.session_state[_previous(key)] = plan.verdict
    elif last is not None and last.savepoint == plan.judged:
        draw(last, is_previous=True)
    _ask(check, is_known=plan.verdict is not None and plan.verdict.told == (check.map or {}))


def forget(key: str) -> None:
    """What is edited under `key` from now on is another text than before."""
    st.session_state.pop(_previous(key), None)


def _previous(key: str) -> str:
    return f"verdict_{key}"


def _text(part: Part) -> str:
    return " ".join(filter(None, (*(f"{reason.rstrip('.')}." for reason in part.reasons), part.hint)))


def _ask(check: Check, is_known: bool) -> None:
    """The button that asks for the verdict, the switch that asks at each pause of typing, and the progress.

    What failed or was cancelled is not asked for again by itself.
    """
    savepoint = check.savepoint
    key, asked = f"check_{savepoint}", f"checked_{savepoint}"
    operations.under_way(lambda operation: operation.kind == "check" and operation.subject == savepoint, key="check")
    busy = changes.is_asked(key)
    with errors_shown():
        if changes.answered(key) is not None:
            st.rerun()
        with st.container(horizontal=True, vertical_alignment="center", key="fork_checks"):
            pressed = not is_known and permitted.button(
                "Check", Role.AUTHOR, icon=":material/rule:", key=CHECK, disabled=busy, help=changes.BUSY if busy else HELP
            )
            follows = st.toggle("Check as I type", key=f"{FOLLOW}_{savepoint}", help=FOLLOW_HELP)
        is_due = follows and not is_known and not changes.is_asked(key) and st.session_state.get(asked) != check
        if pressed or is_due:
            st.session_state[asked] = check
            if changes.ask(key, check, f"The code was checked against {savepoint}") is not None:
                st.rerun()


def _check(savepoint: str, variant: fork.Variant) -> Check:
    revised = {part.name: getattr(variant, part.name) for part in fields(Revision)}
    return Check(savepoint, new_queries=variant.new_queries, map=variant.map or None, **revised)
