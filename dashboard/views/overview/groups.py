"""Several jobs at once: the bar of those that are ticked, and what stopping or resuming all of them does, before and after."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import once, permitted, session
from dashboard.dialogs import answer, dialog
from dashboard.health import health
from dashboard.views import operations, restore_plans
from dashboard.views.commands import folded
from dashboard.widgets import chip, errors_shown, message_box, plain_facts
from pipelines.domain.access import Role
from pipelines.domain.jobs import JobSummary
from pipelines.domain.texts import LABEL
from pipelines.verbs.resume import JobsResume, ResumeJobs, ResumeOutcome
from pipelines.verbs.stop import JobsStop, StopJobs, StopOutcome
from pipelines.words import formats, plans

NAMED = 6
"""So many are named in the bar, the rest counted."""
BOUNDARY = "Each ends when the batch that runs now is committed; it can be resumed from there."
AS_THEY_WERE = "Each goes on after its last batch, with the code that it had: nothing is lost."
SAVED, UNSAVED = "ends after its batch, then a savepoint is taken", "ends after its batch, without a savepoint"
UNDER_WAY = "is being stopped already"
UNSEEN = "jobs_refused"


def picked() -> list[str]:
    """The jobs that are ticked, as the address has them."""
    return [name for name in session.selected("jobs").split(",") if name]


def pick(names: Sequence[str]) -> None:
    """Puts the ticked jobs into the address."""
    session.select(jobs=",".join(names))


def bar(jobs: Sequence[JobSummary]) -> None:
    """The bar with the actions on ticked jobs, and what was refused of the last one; nothing where none is ticked."""
    _refused()
    chosen = [job for name in picked() for job in jobs if job.job.name == name]
    if not chosen:
        return
    names = [str(job.job.name) for job in chosen]
    with st.container(border=True, key="card_bulk"), st.container(horizontal=True, vertical_alignment="center"):
        st.html(_head(chosen), width="stretch")
        if permitted.button("Stop…", Role.OPERATOR, icon=":material/stop_circle:", key="jobs_stop"):
            ask_stop(names)
        if permitted.button("Resume…", Role.OPERATOR, icon=":material/play_arrow:", key="jobs_resume"):
            ask_resume(names)
        if st.button("", icon=":material/close:", type="tertiary", key="jobs_none", help="Select none"):
            pick(())
            st.rerun()


def _head(chosen: Sequence[JobSummary]) -> str:
    named = "".join(chip(job.job.name, mono=True, hint=health(job)[0]) for job in chosen[:NAMED])
    more = f'<span class="tm-caption">and {len(chosen) - NAMED:,} more</span>' if len(chosen) > NAMED else ""
    return f'<div class="tm-head"><strong>{formats.plural(len(chosen), "job")}</strong>{named}{more}</div>'


def ask_stop(names: Sequence[str]) -> None:
    """Stops them, each at its batch boundary, with a savepoint of each unless told not to."""

    @dialog(f"Stop {formats.plural(len(names), 'job')}", width="medium")
    def ask() -> None:
        with errors_shown():
            st.caption(BOUNDARY)
            keep = st.checkbox("Take a savepoint of each after it stopped", value=True, key="jobs_stop_keep")
            label = st.text_input("Label", placeholder="before the change", key="jobs_stop_label", disabled=not keep, max_chars=LABEL.most)
            change = StopJobs(tuple(names), savepoint=keep, label=(label or "").strip() if keep else "")
            going = _stops(session.workspace().plan(change))
            folded([change])
            if answer(f"Stop {going}", "jobs_stop", icon=":material/stop_circle:", disabled=not going):
                done = once.do(change)
                for outcome in done.outcomes:
                    if outcome.operation is not None:
                        operations.follow(outcome.operation)
                _ended(done.outcomes, "was not stopped")

    ask()


def _stops(planned: JobsStop) -> int:
    """Shows the plan of each; how many will stop."""
    going = [outcome.plan for outcome in planned.outcomes if outcome.plan is not None and outcome.refusal is None]
    plain_facts([(plan.job, UNDER_WAY if plan.under_way else SAVED if plan.savepoint else UNSAVED) for plan in going])
    for outcome in planned.outcomes:
        _not(outcome, "stays as it is")
    return len(going)


def ask_resume(names: Sequence[str]) -> None:
    """Resumes them one after the other, each as it was."""

    @dialog(f"Resume {formats.plural(len(names), 'job')}", width="medium")
    def ask() -> None:
        with errors_shown():
            st.caption(AS_THEY_WERE)
            change = ResumeJobs(tuple(names))
            going = _resumes(session.workspace().plan(change))
            folded([change])
            if answer(f"Resume {going}", "jobs_resume", icon=":material/play_arrow:", disabled=not going):
                _ended(once.do(change).outcomes, "was not resumed")

    ask()


def _resumes(planned: JobsResume) -> int:
    """Shows the plan of each; how many will go on."""
    going = [outcome.plan for outcome in planned.outcomes if outcome.plan is not None and outcome.refusal is None]
    for plan in going:
        with st.expander(f"{plan.job}: {plans.way(plan.how)}", key=f"jobs_resume_{plan.job}"):
            restore_plans.draw(plan)
    for outcome in planned.outcomes:
        _not(outcome, "stays as it is")
    return len(going)


def _ended(outcomes: Sequence[StopOutcome] | Sequence[ResumeOutcome], words: str) -> None:
    """Leaves those ticked that were refused, and keeps why for the page that is drawn next."""
    refused = [outcome for outcome in outcomes if outcome.refusal is not None]
    st.session_state[UNSEEN] = (refused, words)
    pick([outcome.job for outcome in refused])
    st.rerun()


def _refused() -> None:
    refused, words = st.session_state.get(UNSEEN, ((), ""))
    for outcome in refused:
        _not(outcome, words)
    if refused and st.button("Dismiss", icon=":material/close:", type="tertiary", key="jobs_refused_away"):
        del st.session_state[UNSEEN]
        st.rerun()


def _not(outcome: StopOutcome | ResumeOutcome, words: str) -> None:
    if outcome.refusal is not None:
        text = f"{outcome.refusal.message}. {outcome.refusal.hint}"
        message_box(f"{outcome.job} {words}", text, tone="orange", tag=outcome.refusal.code)
