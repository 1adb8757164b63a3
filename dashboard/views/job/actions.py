"""What can be done with a job: each asks what it needs to know, does it, and says what came of it."""

from __future__ import annotations

import time

import streamlit as st

from dashboard import equivalents, formats, navigation, session
from dashboard.views.commands import listed
from dashboard.views.job import notices
from dashboard.views.job.notices import Notice
from dashboard.widgets import confirm, errors_shown, message_box
from pipelines.domain.errors import TidemarkError
from pipelines.domain.jobs import JobDetail
from pipelines.domain.requests import ResumeRequest, StopRequest, TakeRequest
from pipelines.domain.savepoints import RestorePlan, Savepoint


def take(job: str, batch: int | None = None, at_ms: int | None = None) -> Savepoint | None:
    """Takes a savepoint and says so on the job's page; None where it could not be taken, which is said there too."""
    began = time.perf_counter()
    try:
        taken = session.workspace().take(job, TakeRequest(batch=batch, at_ms=at_ms))
    except TidemarkError as error:
        notices.say(Notice(job, error=error))
        return None
    if not isinstance(taken, Savepoint):
        return None
    notices.say(Notice(job, taken, (time.perf_counter() - began) * 1_000))
    return taken


def ask_fork(job: str) -> None:
    """Forks from a savepoint taken now, or from one that there is."""

    @st.dialog("Fork this job")
    def ask() -> None:
        with errors_shown():
            known = session.workspace().savepoints(job)
            st.markdown(
                "A fork is a new job that begins with this job's state: its own checkpoint, query id and output, and code you can change."
            )
            if st.button(
                "From now: take a savepoint and fork it", type="primary", icon=":material/bookmark_add:", key="fork_now", width="stretch"
            ):
                taken = session.workspace().take(job, TakeRequest(label="to fork"))
                if isinstance(taken, Savepoint):
                    navigation.go("fork", savepoint=taken.id)
            if not known:
                return
            names = {one.id: savepoint_words(one) for one in known}
            chosen = st.selectbox("or from a savepoint that there is", list(names), format_func=lambda one: names[one], key="fork_from")
            if st.button("Fork from this one", icon=":material/call_split:", key="fork_chosen", width="stretch"):
                navigation.go("fork", savepoint=str(chosen))

    ask()


def savepoint_words(one: Savepoint) -> str:
    """A savepoint in one line, to choose it by."""
    label = f" · {one.label}" if one.label else ""
    return f"{formats.short_id(one.id)} · batch {one.batch:,} · {formats.ago(one.created_ms, session.now_ms())}{label}"


def ask_stop(job: str, streaming: bool) -> None:
    """Stops at a batch boundary, with a savepoint unless told not to."""

    @st.dialog("Stop this job")
    def ask() -> None:
        boundary = "It ends when the batch that runs now is committed; it can be resumed from there."
        st.markdown(boundary if streaming else "Its script is asked to end; it can be resumed, and begins anew.")
        keep = streaming and st.checkbox("Take a savepoint when it stands", value=True, key="stop_keep")
        label = st.text_input("Label", placeholder="before the change", key="stop_label", disabled=not keep) if streaming else ""
        if st.button("Stop", type="primary", icon=":material/stop_circle:", key="stop_yes"):
            with errors_shown():
                going = session.workspace().stop(job, StopRequest(savepoint=keep, label=(label or "").strip()))
                notices.follow(job, going.id)
                st.rerun()
        _command(equivalents.stop(job, session.url(), with_savepoint=keep, label=(label or "").strip()))

    ask()


def ask_cancel(job: str) -> None:
    """Ends the run at once."""

    def cancel() -> None:
        notices.follow(job, session.workspace().stop(job, StopRequest(savepoint=False, at_once=True)).id)

    says = f"**{job}** ends in the middle of its batch, without a savepoint. The batch is done again when it is resumed: nothing is lost."
    confirm("Cancel at once?", says, "Cancel the run", cancel)


def ask_forget(job: str) -> None:
    """Removes the job, but not its savepoints."""
    kept = len(session.workspace().savepoints(job))
    says = f"This deletes **{job}** with its runs, logs, checkpoints and output. It cannot be undone."
    stay = f"Its {formats.plural(kept, 'savepoint')} stay, and can be forked." if kept else "It has no savepoint, so its state goes too."

    def forget() -> None:
        session.workspace().forget(job)
        session.select(job="", tab="")
        navigation.go("overview")

    confirm("Forget this job?", says, "Forget it", forget, details=stay)


def ask_resume(job: str, detail: JobDetail) -> None:
    """Begins a new run from the checkpoint, or goes back to a savepoint after showing what that does."""

    @st.dialog("Resume this job", width="medium")
    def ask() -> None:
        with errors_shown():
            known = {one.id: one for one in session.workspace().savepoints(job)}
            at = f"after batch {detail.summary.batch:,}" if detail.summary.batch is not None else "from the beginning"
            ways = ["Where it stopped", "From a savepoint"]
            way = st.radio("Go on", ways if known else ways[:1], captions=[at, "back in time; it keeps its query id"], key="resume_way")
            chosen = ""
            if way == ways[1]:
                chosen = (
                    st.selectbox("Savepoint", list(known), format_func=lambda one: savepoint_words(known[one]), key="resume_from") or ""
                )
                _plan(job, chosen)
            if st.button("Resume", type="primary", icon=":material/play_arrow:", key="resume_yes"):
                session.workspace().resume(job, ResumeRequest(from_savepoint=chosen))
                notices.put_away()
                st.rerun()
            _command(equivalents.resume(job, session.url(), from_savepoint=chosen))

    ask()


def _plan(job: str, savepoint: str) -> None:
    """What a resume from `savepoint` will do, before it is done."""
    with errors_shown():
        plan = session.workspace().resume(job, ResumeRequest(from_savepoint=savepoint, dry_run=True))
        if not isinstance(plan, RestorePlan):
            return
        files = formats.plural(plan.files, "file")
        st.caption(f"{files} with {formats.size(plan.bytes)} become its checkpoint ({plan.how}, {formats.size(plan.new_bytes)} new).")
        for sink in plan.sinks:
            if not any(sink.message in warning for warning in plan.warnings):
                st.caption(f"Output of {sink.query}: {sink.message}")
        for warning in plan.warnings:
            message_box("Mind the output" if plan.sinks else "Mind this", warning, tone="orange")


def _command(said: equivalents.Equivalent) -> None:
    with st.expander("Command", icon=":material/terminal:"):
        listed([said])
