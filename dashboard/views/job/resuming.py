"""A job begun again: where it stopped, from a savepoint, from a batch that Spark still keeps, or with other code. The plan comes first."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import equivalents, formats, navigation, session
from dashboard.dialogs import dialog
from dashboard.views import restore_plans, waiting
from dashboard.views.commands import listed
from dashboard.views.job import notices
from dashboard.widgets import error_box, errors_shown
from pipelines.domain.errors import TidemarkError
from pipelines.domain.jobs import JobDetail
from pipelines.domain.requests import ResumeRequest
from pipelines.domain.savepoints import RestorePlan, RetainedBatch, Savepoint

STOPPED, SAVEPOINT, BATCH = "Where it stopped", "From a savepoint", "Go back to a batch"


def why_not(detail: JobDetail) -> str:
    """Why it cannot be begun again now; empty where it can."""
    if detail.summary.job.attached:
        return "It runs elsewhere, and nothing here starts it. Fork from here instead."
    state = detail.summary.state
    return "It runs: stop it first." if state is not None and state.live else ""


def why_no_batch(detail: JobDetail, kept: Sequence[RetainedBatch]) -> str:
    """Why it cannot go back to one of its batches by number; empty where it can."""
    several = len({one.query for one in kept}) > 1
    said = "Its queries have batches of their own: take a savepoint here, which is of one moment of all, and resume from it."
    return why_not(detail) or (said if several else "")


def ask_resume(job: str, detail: JobDetail, way: str = STOPPED) -> None:
    """Asks how to go on, shows what that does, begins the run; `way` is what is chosen at first."""

    @dialog("Resume this job", width="medium")
    def ask() -> None:
        with errors_shown():
            known = {str(one.id): one for one in session.workspace().savepoints(job)}
            kept = _kept(job)
            ways = [STOPPED, *([SAVEPOINT] if known else []), *([BATCH] if kept and not why_no_batch(detail, kept) else [])]
            chosen = st.radio(
                "Go on",
                ways,
                index=ways.index(way) if way in ways else 0,
                captions=[_captions(detail)[one] for one in ways],
                key="resume_way",
            )
            request = _request(str(chosen), known, kept)
            ready = _planned(job, request)
            with st.container(horizontal=True, vertical_alignment="center"):
                if st.button("Resume", type="primary", icon=":material/play_arrow:", key="resume_yes", disabled=not ready):
                    waiting.resume(job, request)
                    notices.put_away()
                    st.rerun()
                if request.batch is None and st.button(
                    "With other code, arguments or confs…", icon=":material/upgrade:", key="resume_upgrade", help="An upgrade: the same job"
                ):
                    navigation.go("upgrade", job=job, savepoint=request.from_savepoint)
            _command(job, request)

    ask()


def _captions(detail: JobDetail) -> dict[str, str]:
    at = f"after batch {detail.summary.batch:,}" if detail.summary.batch is not None else "with its own checkpoint"
    return {STOPPED: at, SAVEPOINT: "it keeps its query id", BATCH: "one that Spark still keeps"}


def _kept(job: str) -> Sequence[RetainedBatch]:
    """Batches to go back to; a checkpoint that cannot be read says so and offers none."""
    try:
        return session.workspace().retained(job)
    except TidemarkError as error:
        error_box(error)
        return ()


def _request(way: str, known: dict[str, Savepoint], kept: Sequence[RetainedBatch]) -> ResumeRequest:
    if way == SAVEPOINT:
        named = st.selectbox("Savepoint", list(known), format_func=lambda one: savepoint_words(known[one]), key="resume_from")
        return ResumeRequest(from_savepoint=named or "")
    if way == BATCH:
        newest_first = sorted({one.batch: one for one in kept}.values(), key=lambda one: -one.batch)
        words = {one.batch: batch_words(one) for one in newest_first}
        return ResumeRequest(batch=st.selectbox("Batch", list(words), format_func=words.__getitem__, key="resume_batch"))
    return ResumeRequest()


def savepoint_words(one: Savepoint) -> str:
    """A savepoint in one line, to choose it by."""
    label = f" · {one.label}" if one.label else ""
    trust = "damaged" if one.damaged_files else one.trust
    return f"{formats.short_id(one.id)} · batch {one.batch:,} · {formats.ago(one.created_ms, session.now_ms())} · {trust}{label}"


def batch_words(one: RetainedBatch) -> str:
    """A retained batch in one line, to choose it by."""
    watermark = f" · watermark {formats.exact(one.watermark_ms, session.zone())}" if one.watermark_ms > 0 else ""
    return f"batch {one.batch:,} · {formats.ago(one.timestamp_ms, session.now_ms())}{watermark}"


def _planned(job: str, request: ResumeRequest) -> bool:
    """Shows what a resume from elsewhere will do; whether it can begin."""
    if not request.from_savepoint and request.batch is None:
        return True
    try:
        plan = session.workspace().resume(job, ResumeRequest(request.from_savepoint, request.batch, dry_run=True))
    except TidemarkError as error:
        error_box(error)
        return False
    if isinstance(plan, RestorePlan):
        restore_plans.draw(plan)
        st.caption(restore_plans.KEPT)
    return not (isinstance(plan, RestorePlan) and restore_plans.refusal(plan))


def ask_rewind(job: str, batch: int) -> None:
    """Says what going back to a retained batch means, and asks once."""

    @dialog(f"Go back to batch {batch:,}?", width="medium")
    def ask() -> None:
        with errors_shown():
            request = ResumeRequest(batch=batch)
            st.markdown(f"**{job}** begins again after batch {batch:,} of its own checkpoint, with the code it ran last.")
            ready = _planned(job, request)
            with st.container(horizontal=True, horizontal_alignment="right"):
                if st.button("Leave it", key="rewind_no"):
                    st.rerun()
                yes = st.button("Go back", type="primary", icon=":material/history:", key="rewind_yes", disabled=not ready)
            if yes:
                waiting.resume(job, request)
                notices.put_away()
                session.select(point="")
                st.rerun()
            _command(job, request)

    ask()


def _command(job: str, request: ResumeRequest) -> None:
    with st.expander("Command", icon=":material/terminal:"):
        listed([equivalents.resume(job, session.url(), from_savepoint=request.from_savepoint, batch=request.batch)])
