"""Savepoints and the batches that Spark still keeps, as a film strip: click one, or type its number or a moment, and begin there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.components.film import film_strip
from dashboard.drawing.film import film
from dashboard.drawing.retention import Axis, has_event_time, newest_until, of_batch, point_id
from dashboard.views.job import actions, resume
from dashboard.widgets import errors_shown
from pipelines.domain.access import Role
from pipelines.domain.errors import Invalid, NotFound, TidemarkError
from pipelines.domain.jobs import JobDetail
from pipelines.domain.moments import moment_ms
from pipelines.domain.savepoints import RetainedBatch, Savepoint
from pipelines.words import formats

AXES = {Axis.CLOCK: "Clock", Axis.EVENT: "Event time"}
HINTS = {
    Axis.CLOCK: "A batch's number, or a time: 14:05:30, 2026-11-20 14:05, -10m. The newest batch that was committed by then is chosen.",
    Axis.EVENT: "A batch's number, or an event time: the newest batch is chosen whose watermark was at or before it.",
}
HOW = "Click a thin frame, or type a batch's number or a time, to take a savepoint of that batch, fork from it, or go back to it."
GONE = "Spark has purged this batch: nothing can begin there. Choose one that it still keeps, or a savepoint."
NOT_OF_ALL = "Another query of the job keeps no batch that is as old: resume it from a savepoint of that time."
EARLIER = {Axis.CLOCK: "committed by", Axis.EVENT: "at or before"}
PLACEHOLDERS = {Axis.CLOCK: "Batch or time", Axis.EVENT: "Batch or event time"}


def draw(name: str, detail: JobDetail, kept: Sequence[RetainedBatch], taken: Sequence[Savepoint]) -> None:
    """The strip with its bar, the batch that is chosen on it, what can begin there."""
    if not kept and not taken:
        return
    axis = _bar(kept)
    chosen = session.selected("batch")
    clicked = film_strip(film(taken, kept, axis), session.spaces(), session.zone(), key=f"film_{name}", selected=chosen)
    if clicked:
        if clicked.startswith("sp-"):
            navigation.go("savepoints", savepoint=clicked)
        session.select(batch="" if clicked == chosen else clicked)
        st.rerun(scope="fragment")
    point = next((retained for retained in kept if point_id(retained) == chosen), None)
    if kept:
        act(name, detail, point, kept, axis)


def _bar(kept: Sequence[RetainedBatch]) -> Axis:
    """The choice of the axis, and the field that finds a batch."""
    with st.container(horizontal=True, vertical_alignment="center", key="point_bar"):
        st.html('<div class="tm-section"><h2>Over time</h2></div>', width="stretch")
        none = None if has_event_time(kept) else "No batch has a watermark: this job has no event time"
        selected = session.selected("axis", Axis.CLOCK)
        axis = st.segmented_control(
            "Axis", list(AXES), default=Axis.EVENT if selected == Axis.EVENT and not none else Axis.CLOCK, required=True,
            format_func=AXES.__getitem__, key="point_axis", label_visibility="collapsed", disabled=bool(none), help=none,
        )  # fmt: skip
        axis = Axis(axis or Axis.CLOCK)
        session.select(axis="" if axis is Axis.CLOCK else axis)
        typed = st.text_input(
            "Batch or time", key="point_typed", placeholder=PLACEHOLDERS[axis], help=HINTS[axis], icon=":material/my_location:",
            label_visibility="collapsed", width=260,
        )  # fmt: skip
        _find((typed or "").strip(), kept, axis)
    error = st.session_state.get("point_error")
    if error:
        st.html(f'<p class="tm-error tm-right" role="alert">{escape(error)}</p>')
    return axis


def _find(typed: str, kept: Sequence[RetainedBatch], axis: Axis) -> None:
    """Selects the batch that was typed, once; an error is shown, and the text stays."""
    asked = (typed, axis)
    if asked == st.session_state.get("point_asked", ("", axis)):
        return
    st.session_state["point_asked"] = asked
    st.session_state["point_error"] = ""
    if not typed:
        return
    try:
        session.select(batch=point_id(find(typed, kept, axis)))
    except TidemarkError as error:
        st.session_state["point_error"] = f"{error.message}. {error.hint}"


def find(typed: str, kept: Sequence[RetainedBatch], axis: Axis) -> RetainedBatch:
    """The batch of that number, or the newest at or before that moment. NotFound (`batch.gone`), Invalid (`time.invalid`)."""
    number = typed.replace(",", "")
    digits = number.isdigit()
    point = of_batch(kept, int(number)) if digits else newest_until(kept, axis, _moment(typed))
    if point is None:
        first, last = (edge(retained.batch for retained in kept) for edge in (min, max))
        message = f"Batch {typed} is not kept" if digits else f"No batch that is kept was {EARLIER[axis]} {typed}"
        raise NotFound("batch.gone", message, f"Spark keeps batches {first:,} to {last:,} now.")
    return point


def _moment(typed: str) -> int:
    try:
        return moment_ms(typed, datetime.fromtimestamp(session.now_ms() / 1_000, session.zone()))
    except Invalid as error:
        raise Invalid(error.code, f"{typed!r} is neither a batch nor a time", error.hint) from error


def act(name: str, detail: JobDetail, point: RetainedBatch | None, kept: Sequence[RetainedBatch], axis: Axis = Axis.CLOCK) -> None:
    """What can begin at the chosen batch: a savepoint, a fork, a rewind; nothing where Spark has purged it."""
    with st.container(horizontal=True, vertical_alignment="center", key="point"):
        if point is None:
            words = GONE if session.selected("batch") else HOW
            st.html(f'<p class="tm-hint">{words}</p>', width="stretch")
            return
        st.html(_words(point, kept), width="stretch")
        here = permitted.button("Savepoint here", Role.OPERATOR, icon=":material/bookmark_add:", key="point_take")
        target = resume.at_moment(kept, point, axis)
        refused = resume.why_not(detail) or (NOT_OF_ALL if target is None else "")
        back = permitted.button(
            "Rewind to here…", Role.OPERATOR, icon=":material/history:", key="point_rewind", disabled=bool(refused), help=refused or None
        )
        fork = permitted.button("Fork from here", Role.AUTHOR, icon=":material/call_split:", type="primary", key="point_fork")
    if back and target is not None:
        resume.ask_rewind(name, target)
    if here or fork:
        taken = take(name, point, kept, axis)
        if taken and fork:
            navigation.go("fork", savepoint=taken.id)
        st.rerun()


def take(name: str, point: RetainedBatch, kept: Sequence[RetainedBatch], axis: Axis = Axis.CLOCK) -> Savepoint | None:
    """Takes a savepoint of the batch, and of each other query of `kept` of its newest batch at or before it.
    Where one keeps none as old it
    is taken at the moment: a query that had not begun by then begins at its start."""
    with errors_shown():
        batch = resume.at_moment(kept, point, axis)
        if batch is not None:
            return actions.take(name, batch=batch)
        if axis is Axis.EVENT:
            return actions.take(name, event_ms=point.watermark_ms)
        return actions.take(name, at_ms=point.committed_ms)
    return None


def _words(point: RetainedBatch, kept: Sequence[RetainedBatch]) -> str:
    """The batch, how far it is behind the newest of its query, and when it was; with several queries the name of its own."""
    newest = max(retained.batch for retained in kept if retained.query == point.query)
    several = any(retained.query != point.query for retained in kept)
    back = formats.plural(newest - point.batch, "batch", "batches")
    place = "the newest batch" if newest == point.batch else f"{back} before the newest"
    of_query = f" of {escape(point.query)}" if several else ""
    committed = f"committed {formats.exact(point.committed_ms, session.zone())}"
    watermark = f" · watermark {formats.exact(point.watermark_ms, session.zone())}" if point.watermark_ms > 0 else ""
    return f'<p class="tm-point"><b>Batch {point.batch:,}{of_query}</b> {place} · {committed}{watermark}</p>'
