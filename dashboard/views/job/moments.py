"""The batch at a point of a chart that somebody clicked: its phases, what it read, the log then, and what can begin there."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.drawing.figures import TimeMark
from dashboard.views.job import batches, points
from dashboard.widgets import errors_shown, facts, section
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.experiments import BatchRow
from pipelines.domain.jobs import JobDetail, Run
from pipelines.domain.savepoints import RetainedBatch, Savepoint
from pipelines.verbs.jobs import ListBatches, ListRetained
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import formats

KEPT_AGE_MS = 5_000


def choose(at: str) -> None:
    """Puts the moment (epoch ms) into the address."""
    session.select(at=at)


def chosen() -> int | None:
    """The moment in the address."""
    at = session.selected("at")
    return int(at) if at.isdecimal() and len(at) < 16 else None


def marks() -> list[TimeMark]:
    """A line across all charts at that moment."""
    at_ms = chosen()
    return [] if at_ms is None else [TimeMark(at_ms, "moment")]


def draw(name: str, detail: JobDetail) -> None:
    """The card of the batch that had just ended then; nothing where no moment is chosen."""
    at_ms = chosen()
    if at_ms is None:
        return
    with errors_shown(), st.container(border=True, key="card_moment"):
        ended_batches = session.shared(ListBatches(name, limit=1, to_ms=at_ms))
        with st.container(horizontal=True, vertical_alignment="center"):
            title = f"Batch {ended_batches[0].batch:,}" if ended_batches else "No batch had ended by then"
            note = f"{escape(ended_batches[0].query)} · {formats.exact(ended_batches[0].at_ms, session.zone())}" if ended_batches else ""
            st.html(f'<div class="tm-section"><h2>{title}</h2><span class="tm-caption">{note}</span></div>', width="stretch")
            if ended_batches:
                _ways(name, detail, ended_batches[0])
            close = {"icon": ":material/close:", "type": "tertiary", "key": "moment_close", "help": "Close"}
            st.button("", on_click=choose, args=("",), **close)  # type: ignore[arg-type]
        if ended_batches:
            _batch(ended_batches[0])


def _batch(row: BatchRow) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        facts(
            [
                ("Duration", formats.duration(row.batch_ms)),
                ("Rows read", formats.count(row.input_rows)),
                ("Late rows dropped", formats.count(row.late_rows)),
                ("State rows", formats.count(row.state_rows)),
                ("Watermark", formats.exact(row.watermark_ms, session.zone())),
            ]
        )
        st.html(batches.phase_bars(row.phases, row.batch_ms))
    with right:
        section("What it read")
        batches.offsets(row)


def _ways(name: str, detail: JobDetail, row: BatchRow) -> None:
    """The log at that moment, a savepoint of the batch, a fork from before it."""
    run = _run(detail, row)
    log = None if detail.summary.job.attached or run is None else run
    if log:
        link = escape(navigation.href("job", job=name, tab="Logs", run=log.id, since=str(row.at_ms)))
        says = "The driver's log from the batch's begin on"
        st.html(f'<a class="tm-open" href="{link}" target="_self" title="{escape(says)}">Log at that time</a>', width="content")
    kept = _kept(name)
    own = [retained for retained in kept if retained.query == row.query]
    of_it = batches.of_row(own, row)
    gone = None if of_it else "Spark no longer keeps this batch"
    if permitted.button(
        "Savepoint of this batch", Role.OPERATOR, icon=":material/bookmark_add:", key="moment_take", disabled=of_it is None, help=gone
    ):
        _take(name, of_it, kept)
    before = next((retained for retained in reversed(own) if retained.batch < row.batch), None)
    saved = _saved_before(name, row)
    refused = None if before or saved else "Neither Spark nor a savepoint holds what was before this batch"
    if permitted.button(
        "Fork from before this batch", Role.AUTHOR, icon=":material/call_split:", key="moment_fork", disabled=bool(refused), help=refused
    ):
        _fork(name, before, saved, kept)


def _kept(name: str) -> Sequence[RetainedBatch]:
    """The batches that Spark still keeps; none where the checkpoint cannot be read."""
    try:
        return session.shared(ListRetained(name), age_ms=KEPT_AGE_MS)
    except TidemarkError:
        return ()


def _saved_before(name: str, row: BatchRow) -> Savepoint | None:
    """The newest savepoint of the job at a batch before this one."""
    taken = [savepoint for savepoint in session.shared(ListSavepoints(name)) if _batch_of(savepoint, row.query) < row.batch]
    return max(taken, key=lambda savepoint: _batch_of(savepoint, row.query), default=None)


def _batch_of(savepoint: Savepoint, query: str) -> float:
    return next((image.batch for image in savepoint.queries if image.query == query), float("inf"))


def _take(name: str, batch: RetainedBatch | None, kept: Sequence[RetainedBatch]) -> None:
    if batch:
        points.take(name, batch, kept)
        st.rerun()


def _fork(name: str, before: RetainedBatch | None, saved: Savepoint | None, kept: Sequence[RetainedBatch]) -> None:
    """Forks from the batch before, with a savepoint of it; where Spark has purged that, from the newest savepoint before."""
    if before is None and saved is not None:
        navigation.go("fork", savepoint=saved.id)
    taken = points.take(name, before, kept) if before else None
    if taken:
        navigation.go("fork", savepoint=taken.id)
    st.rerun()


def _run(detail: JobDetail, row: BatchRow) -> Run | None:
    """The run that the batch was of: the newest that had started by then."""
    return next((run for run in detail.runs if run.started_ms is not None and run.started_ms <= row.at_ms), None)
