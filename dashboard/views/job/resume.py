"""A job begun again: where it stopped, from a savepoint, from a batch that Spark still keeps, or with other code. The plan comes first."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from dashboard import navigation, notices, permitted, session
from dashboard.dialogs import answer, dialog
from dashboard.drawing.retention import REACHED, Axis, newest_until
from dashboard.views import acceptance, changes, restore_plans, verdicts
from dashboard.views.acceptance import Accepted
from dashboard.views.commands import folded
from dashboard.widgets import error_box, errors_shown
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.jobs import JobDetail
from pipelines.domain.savepoints import RetainedBatch, Savepoint
from pipelines.domain.verdicts import Outcome
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import formats, savepoints

STOPPED, SAVEPOINT, BATCH = "Where it stopped", "From a savepoint", "Go back to a batch"
PREVIOUS = "With the previous code"


def previous_version(detail: JobDetail) -> str:
    """The version that the job ran before that of its newest run; empty where it ran one alone."""
    newest = detail.summary.run
    return next((run.version for run in detail.runs if newest and run.version != newest.version), "")


def why_not(detail: JobDetail) -> str:
    """The reason why the job cannot be resumed now; empty where it can."""
    if detail.summary.job.attached:
        return "The job runs elsewhere, and cannot be started from here. Fork it instead."
    state = detail.summary.state
    return "The job runs: stop it first." if state is not None and state.live else ""


def ask_resume(job: str, detail: JobDetail, way: str = STOPPED) -> None:
    """Asks how to go on, shows what that does, begins the run; `way` is what is chosen at first."""

    @dialog(f"Resume {job}", width="medium")
    def ask() -> None:
        with errors_shown():
            known = {str(savepoint.id): savepoint for savepoint in session.workspace().ask(ListSavepoints(job))}
            kept = _kept(job)
            before, back = previous_version(detail), kept and not why_not(detail)
            ways = [STOPPED, *([PREVIOUS] if before else []), *([SAVEPOINT] if known else []), *([BATCH] if back else [])]
            chosen = st.radio(
                "Go on",
                ways,
                index=ways.index(way) if way in ways else 0,
                captions=[_captions(detail)[option] for option in ways],
                key="resume_way",
            )
            resume = Resume(job, version=before) if chosen == PREVIOUS else _resume(job, str(chosen), known, kept)
            if resume.version:
                _taken_back(detail, resume.version)
            own = resume.batch is None and not resume.version
            resume, ready = _planned(resume)
            help = "Opens an upgrade of this job"
            if own and permitted.button(
                "With other code, arguments or confs…", Role.AUTHOR, icon=":material/upgrade:", key="resume_upgrade", help=help
            ):
                navigation.go("upgrade", job=job, savepoint=resume.from_savepoint)
            folded([resume])
            if answer("Resume", "resume", icon=":material/play_arrow:", disabled=not ready):
                changes.resume(resume)
                notices.put_away()
                st.rerun()

    ask()


def _captions(detail: JobDetail) -> dict[str, str]:
    at = f"after batch {detail.summary.batch:,}" if detail.summary.batch is not None else "with its own checkpoint"
    before = f"{at}, as {formats.short_id(previous_version(detail))}"
    return {STOPPED: at, PREVIOUS: before, SAVEPOINT: "the query id is kept", BATCH: "a batch that Spark still keeps"}


def _taken_back(detail: JobDetail, earlier: str) -> None:
    """What of the code of the newest run is taken back."""
    newest = detail.summary.run
    if newest is None:
        return
    failed, before = (session.workspace().ask(ShowVersion(version)) for version in (newest.version, earlier))
    lines = difflib.unified_diff(failed.code.splitlines(), before.code.splitlines(), failed.id, before.id, lineterm="", n=1)
    st.code("\n".join(lines) or "The code is the same; arguments or confs differ.", language="diff", height=220)


def _kept(job: str) -> Sequence[RetainedBatch]:
    """Batches to go back to; a checkpoint that cannot be read says so and offers none."""
    try:
        return session.workspace().ask(ListRetained(job))
    except TidemarkError as error:
        error_box(error)
        return ()


def _resume(job: str, way: str, known: dict[str, Savepoint], kept: Sequence[RetainedBatch]) -> Resume:
    if way == SAVEPOINT:
        words = {savepoint_id: savepoints.choice(savepoint, session.now_ms()) for savepoint_id, savepoint in known.items()}
        named = st.selectbox("Savepoint", list(words), format_func=words.__getitem__, key="resume_from")
        return Resume(job, from_savepoint=named or "")
    if way == BATCH:
        queries = list(dict.fromkeys(retained.query for retained in kept))
        if len(queries) == 1:
            return Resume(job, batch=_batch("Batch", "resume_batch", kept))
        return Resume(job, batch={query: _batch(f"Batch of {query}", f"resume_batch_{query}", _of(kept, query)) for query in queries})
    return Resume(job)


def _batch(label: str, key: str, kept: Sequence[RetainedBatch]) -> int:
    """Asks for one of a query's batches, the newest at first."""
    newest_first = sorted(kept, key=lambda retained: -retained.batch)
    batches = {retained.batch: batch_words(retained) for retained in newest_first}
    return int(st.selectbox(label, list(batches), format_func=batches.__getitem__, key=key))


def _of(kept: Sequence[RetainedBatch], query: str) -> list[RetainedBatch]:
    return [retained for retained in kept if retained.query == query]


def at_moment(kept: Sequence[RetainedBatch], point: RetainedBatch, axis: Axis) -> int | dict[str, int] | None:
    """The batch to go back to from a point of one query; with several the newest batch of each at or before it, None if one keeps none."""
    queries = dict.fromkeys(retained.query for retained in kept)
    if len(queries) == 1:
        return point.batch
    batches = {query: newest_until(_of(kept, query), axis, REACHED[axis](point)) for query in queries}
    batches[point.query] = point
    return None if None in batches.values() else {str(query): retained.batch for query, retained in batches.items() if retained}


def batch_words(retained: RetainedBatch) -> str:
    """A retained batch in one line, to choose it by."""
    watermark = f" · watermark {formats.exact(retained.watermark_ms, session.zone())}" if retained.watermark_ms > 0 else ""
    return f"batch {retained.batch:,} · {formats.ago(retained.committed_ms, session.now_ms())}{watermark}"


def _planned(resume: Resume) -> tuple[Resume, bool]:
    """Shows what a resume will do, and asks for what has to be said of the state; the resume with that, and whether it can begin."""
    try:
        plan = session.workspace().plan(resume)
        restore_plans.described(plan)
        if plan.verdict is not None and plan.verdict.outcome is not Outcome.SAME:
            verdicts.draw(plan.verdict)
        accepted = acceptance.accepted(plan.verdict, f"{resume.job}_{resume.version}{resume.from_savepoint}")
        if accepted != Accepted():
            resume = replace(resume, drop=accepted.drop, map=dict(accepted.map) or None)
            plan = session.workspace().plan(resume)
    except TidemarkError as error:
        error_box(error)
        return resume, False
    restore_plans.refusal(plan)
    forbidden = session.refusal(resume.needs())
    if forbidden:
        st.caption(forbidden)
    return resume, plan.refusal is None and not forbidden


def ask_rewind(job: str, batch: int | Mapping[str, int]) -> None:
    """Explains the rewind to a retained batch, of each query where there are several, and asks once."""
    named = formats.batches(batch)
    says = f"**{job}** begins again after {named} of its own checkpoint, with the code it ran last."
    _ask(f"Rewind {job} to {named}", says, Resume(job, batch=batch), "Rewind", ":material/history:")


def ask_past(job: str, batch: int) -> None:
    """Explains what is left out with the batch at which the job failed, and asks once."""
    says = f"**{job}** goes on after batch {batch:,} as if its input had not been there: no row of it comes into the state or the output."
    _ask(f"Leave out batch {batch:,} of {job}", says, Resume(job, past_batch=True), "Leave it out", ":material/skip_next:")


def _ask(title: str, says: str, resume: Resume, button: str, icon: str) -> None:
    """Asks with the plan of the resume, and begins it."""

    @dialog(title, width="medium")
    def ask() -> None:
        with errors_shown():
            st.markdown(says)
            change, ready = _planned(resume)
            folded([change])
            if answer(button, "rewind", icon=icon, disabled=not ready):
                changes.resume(change)
                notices.put_away()
                session.select(batch="")
                st.rerun()

    ask()
