"""The decision about a variant: to promote it (its parent goes on with its code) is planned step by step and asked once; to drop it can be
undone and is not asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Literal

import streamlit as st

from dashboard import permitted, session, undo
from dashboard.dialogs import dialog
from dashboard.views import acceptance, operations, outcomes, restore_plans, verdicts
from dashboard.views.endings import ending, planned
from dashboard.widgets import Tone, chip, error_box, message_box
from pipelines.domain.access import Role
from pipelines.domain.decisions import Choice, Decision, PromotePlan, StateFrom, Step, refusal_of_failed
from pipelines.domain.errors import Conflict, TidemarkError
from pipelines.domain.experiments import Experiment
from pipelines.domain.jobs import JobSummary
from pipelines.verbs.drop import Drop
from pipelines.verbs.promote import Promote
from pipelines.words import formats

STATES = {
    StateFrom.PRESENT: "Its own present state: its output stays, new batches run the new code",
    StateFrom.SAVEPOINT: "The savepoint that both began from: everything since then is processed again by the new code",
    StateFrom.VARIANT: "The variant's state and rows: each Delta or Iceberg table becomes the variant's, nothing is processed again",
}
UNDROPS = "Resume the job where the drop stopped it"
TONES: dict[Choice, Tone] = {Choice.PROMOTED: "green", Choice.DROPPED: "gray"}


def badge(made: Decision) -> str:
    """The decision as a chip."""
    return chip(made.choice.capitalize(), TONES[made.choice], hint=formats.exact(made.at_ms, session.zone()))


def notes(experiment: Experiment) -> None:
    """A box for each decision, the newest first."""
    for made in reversed(experiment.decisions):
        ago = formats.ago(made.at_ms, session.now_ms())
        if made.choice is Choice.PROMOTED:
            saved = f" Its state before that is savepoint {made.savepoint}." if made.savepoint else ""
            message_box(f"{made.job} was promoted {ago}", f"{made.parent} goes on with version {made.version}.{saved}", tone="blue")
        else:
            _dropped(made.job, ago)


def _dropped(job: str, ago: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"dropped_{job}"):
        message_box(f"{job} was dropped {ago}", "Its savepoints and its output stay.", tone="blue")
        if permitted.button("Undrop", Role.OPERATOR, icon=":material/undo:", key=f"undrop_{job}", help=UNDROPS):
            undrop(job)


def buttons(variant: JobSummary) -> None:
    """Promote and drop, for a variant that nothing was decided about."""
    job, refusal = variant.job.name, unpromoted(variant)
    ends = f"End {job} at its next batch boundary, with a savepoint, and mark it as dropped; Undrop takes that back"
    if permitted.button("Drop", Role.OPERATOR, icon=":material/block:", key="decide_drop", help=ends):
        drop(job)
    goes_on = f"{refusal}. {refusal.hint}" if refusal else f"Its parent goes on with {job}"
    icon = ":material/verified_user:"
    type_: Literal["primary", "secondary"] = "secondary" if refusal else "primary"
    if permitted.button("Promote…", Role.AUTHOR, type=type_, icon=icon, key="decide_promote", help=goes_on, disabled=refusal is not None):
        ask_promote(job)


def unpromoted(variant: JobSummary) -> Conflict | None:
    """Why the variant cannot be promoted now, None where it can."""
    return refusal_of_failed(variant.job.name, variant.run) if variant.run else None


def ask_promote(job: str) -> None:
    """Opens the question with the plan."""

    @dialog(f"Promote {job}", width="medium")
    def ask() -> None:
        state = st.radio("The parent goes on with", list(STATES), format_func=STATES.__getitem__, key="promote_state")
        change = Promote(job, state)
        plan = planned(change)
        if plan is not None:
            st.html(_title(plan) + steps(plan.steps))
            for warning in plan.warnings:
                message_box(warning, tone="orange")
            if plan.restore:
                restore_plans.described(plan.restore)
            verdict = plan.restore.verdict if plan.restore else plan.verdict
            if verdict is not None:
                verdicts.draw(verdict)
            accepted = acceptance.accepted(verdict, job)
            change = replace(change, drop=accepted.drop, map=dict(accepted.map) or None)
            plan = planned(change)
        if plan is not None and plan.refusal is not None:
            error_box(plan.refusal.error)
        ending(change, "Promote", "decide", operations.begin, ready=plan is not None and plan.refusal is None)

    ask()


def drop(job: str) -> None:
    """Drops the variant; a notice with Undo appears when it has ended."""
    try:
        operations.begin(Drop(job))
    except TidemarkError as error:
        undo.refuse(error)
    st.rerun()


def undrop(job: str) -> None:
    """Undoes the drop of a variant."""
    undo.take_back(partial(outcomes.undrop, job))
    st.rerun()


def _title(plan: PromotePlan) -> str:
    lines = chip(f"+{plan.added}", "green", mono=True) + chip(f"−{plan.removed}", "red", mono=True)
    arrow = f"{chip(formats.short_id(plan.replaces), mono=True)}<span>→</span>{chip(formats.short_id(plan.version), mono=True)}"
    return f'<div class="tm-head"><strong>{escape(plan.parent)}</strong>{arrow}{lines}</div>'


def steps(plan: Sequence[Step]) -> str:
    """The steps of a plan in order, as HTML."""
    return f'<ol class="tm-steps">{"".join(f"<li>{escape(step.words)}</li>" for step in plan)}</ol>'
