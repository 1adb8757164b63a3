"""The plans of the forks, asked of the workspace before anything starts, and the errors that refuse them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from dashboard import session
from dashboard.components.code_editor import syntax_diagnostics
from dashboard.views import acceptance, restore_plans, verdicts
from dashboard.views.acceptance import Accepted
from dashboard.views.fork.confs import pinned
from dashboard.views.fork.drafts import Draft, Variant, doubled, fork_from
from dashboard.widgets import chip, error_box, message_box, plain_facts
from pipelines.domain.errors import AlreadyExists, Invalid, TidemarkError
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest
from pipelines.words import plans

NO_CODE = "The savepoint does not say what code its job runs"
REFUSED = "The fork cannot start like this. Choose what happens with the output above, or give another place for it under Arguments."


@dataclass(frozen=True)
class Outlook:
    """A variant with its plan, or with what refuses it."""

    variant: Variant
    plan: RestorePlan | None
    refusal: TidemarkError | None

    @property
    def reason(self) -> str:
        """Why it cannot be started; empty where it can."""
        if self.refusal:
            return self.refusal.message
        return plans.refusal(self.plan)


def outlooks(manifest: Manifest, draft: Draft) -> list[Outlook]:
    """Every variant's outlook, in order."""
    twice = doubled(draft.variants)
    return [_outlook(manifest, variant, variant.name in twice) for variant in draft.variants]


def _outlook(manifest: Manifest, variant: Variant, name_twice: bool) -> Outlook:
    try:
        if name_twice:
            raise AlreadyExists("job.exists", f"Two variants are called {variant.name}", "Give each a name of its own.")
        if not variant.code.strip():
            raise Invalid("fork.no_code", NO_CODE, "Load its script into the editor, or paste it.")
        refuse_wrong(variant)
        plan = session.workspace().plan(fork_from(manifest.id, variant.asked()))
    except TidemarkError as error:
        return Outlook(variant, None, error)
    return Outlook(variant, plan, None)


def refuse_wrong(variant: Variant) -> None:
    """Raises Invalid (`version.syntax`) for code that Python does not read."""
    for diagnostic in syntax_diagnostics(variant.code, variant.script):
        raise Invalid("version.syntax", f"Line {diagnostic.line}: {diagnostic.message}", "The editor marks the place.")


def refused(every: Sequence[Outlook], draft: Draft) -> str:
    """Why nothing can be started, the first reason with its variant; empty where all can."""
    if draft.is_experiment and not draft.experiment.strip():
        return "The experiment needs a name."
    several = len(every) > 1
    return next((f"{outlook.variant.letter}: {outlook.reason}" if several else outlook.reason for outlook in every if outlook.reason), "")


def shown(manifest: Manifest, outlook: Outlook) -> None:
    """The plan of one variant as a card."""
    with st.container(border=True, key="card_plan"):
        st.html(f'<div class="tm-section"><h2>Plan</h2>{_verdict(outlook)}</div>')
        if outlook.refusal:
            error_box(outlook.refusal)
        if outlook.plan:
            _plan(outlook.plan)
            _notes(manifest, outlook)


def state(manifest: Manifest, outlook: Outlook) -> Accepted:
    """The verdict on one variant's code, for the wide column, where both codes' operators have room; answers with what was said of the
    state."""
    if outlook.plan is None:
        return Accepted()
    key = f"{manifest.id}_{outlook.variant.letter}"
    verdicts.of_plan(outlook.plan, outlook.variant.asked(), key)
    return acceptance.accepted(outlook.plan.verdict, key)


def _verdict(outlook: Outlook) -> str:
    return chip("cannot start", "red", dot=True) if outlook.reason else chip("ready to start", "green", dot=True)


def _plan(plan: RestorePlan) -> None:
    plain_facts(plans.restore(plan))
    for sink in plan.sinks:
        st.html(restore_plans.sink_words(sink))
        if sink.action == "refuse":
            message_box(f"The output of {sink.query} would not be right", REFUSED, tone="red")


def _notes(manifest: Manifest, outlook: Outlook) -> None:
    """Warnings of the plan, and confs that the savepoint pins."""
    assert outlook.plan is not None
    restore_plans.warnings(outlook.plan)
    restore_plans.refusal(outlook.plan)
    for name, asked, stays in pinned(manifest, outlook.variant.asked().conf or {}):
        message_box(f"{name} stays {stays}", f"The savepoint pins it: Spark silently ignores `{asked}`.", tone="orange")
