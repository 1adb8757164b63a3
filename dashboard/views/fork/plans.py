"""What the forks would do, asked of the workspace before anything starts, and why one would be refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from dashboard import formats, session
from dashboard.components.code_editor import syntax_diagnostics
from dashboard.views.fork.drafts import Draft, Variant, doubled, pinned
from dashboard.widgets import Tone, chip, error_box, facts, message_box
from pipelines.domain.errors import AlreadyExists, Invalid, TidemarkError
from pipelines.domain.savepoints import Manifest, RestorePlan, SinkPlan

ACTIONS: dict[str, tuple[str, Tone]] = {
    "carry": ("carried on", "green"),
    "fresh": ("begins empty", "blue"),
    "cut": ("cut back", "orange"),
    "none": ("yours", "gray"),
    "refuse": ("refused", "red"),
}


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
        refused = next((sink for sink in self.plan.sinks if sink.action == "refuse"), None) if self.plan else None
        return refused.message if refused else ""


def outlooks(manifest: Manifest, draft: Draft) -> list[Outlook]:
    """Every variant's outlook, in order."""
    twice = doubled(draft.variants)
    return [_outlook(manifest, variant, variant.name in twice) for variant in draft.variants]


def _outlook(manifest: Manifest, variant: Variant, name_twice: bool) -> Outlook:
    try:
        if name_twice:
            raise AlreadyExists("job.exists", f"Two variants are called {variant.name}", "Give each a name of its own.")
        for found in syntax_diagnostics(variant.code, variant.script):
            raise Invalid("version.syntax", f"Line {found.line}: {found.message}", "The editor marks the place.")
        plan = session.workspace().fork(manifest.id, variant.request(dry_run=True))
    except TidemarkError as error:
        return Outlook(variant, None, error)
    return Outlook(variant, plan, None) if isinstance(plan, RestorePlan) else Outlook(variant, None, None)


def refused(every: Sequence[Outlook], draft: Draft) -> str:
    """Why nothing can be started, the first reason with its variant; empty where all can."""
    if draft.is_experiment and not draft.experiment.strip():
        return "The experiment needs a name."
    several = len(every) > 1
    return next((f"{one.variant.letter}: {one.reason}" if several else one.reason for one in every if one.reason), "")


def shown(manifest: Manifest, outlook: Outlook) -> None:
    """The plan of one variant as a card."""
    with st.container(border=True, key="card_plan"):
        st.html(f'<div class="tm-section"><h2>Plan</h2>{_verdict(outlook)}</div>')
        if outlook.refusal:
            error_box(outlook.refusal)
        if outlook.plan:
            _plan(outlook.plan)
            _notes(manifest, outlook)


def _verdict(outlook: Outlook) -> str:
    return chip("cannot start", "red", dot=True) if outlook.reason else chip("ready to start", "green", dot=True)


def _plan(plan: RestorePlan) -> None:
    facts(
        [
            ("State", f"{formats.plural(plan.files, 'file')}, {formats.size(plan.bytes)}"),
            ("New bytes", f"{formats.size(plan.new_bytes)} (by {escape(plan.how)})"),
            ("Query id", "kept" if plan.keeps_query_id else "a new one"),
        ]
    )
    for sink in plan.sinks:
        st.html(_sink(sink))


def _sink(sink: SinkPlan) -> str:
    said, tone = ACTIONS.get(sink.action, (sink.action, "gray"))
    chips = chip(sink.sink, mono=True) + chip(said, tone)
    head = f'<div class="tm-head"><strong>{escape(sink.query)}</strong>{chips}</div>'
    return f'<div class="tm-sink">{head}<p>{escape(sink.message)}</p></div>'


def _notes(manifest: Manifest, outlook: Outlook) -> None:
    """What will happen and may surprise."""
    assert outlook.plan is not None
    said = {f"{sink.query}: {sink.message}" for sink in outlook.plan.sinks}
    for warning in outlook.plan.warnings:
        if warning not in said:
            message_box(warning, tone="orange")
    for name, asked, stays in pinned(manifest, outlook.variant.request().conf or {}):
        message_box(f"{name} stays {stays}", f"The savepoint pins it: Spark silently ignores `{asked}`.", tone="orange")
