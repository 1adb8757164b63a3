"""What people say of a savepoint: shown, and changed in place. What was typed stays where a change is refused."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from html import escape

import streamlit as st

from dashboard import formats, session
from dashboard.views.savepoints_filters import past
from dashboard.widgets import chip, errors_shown
from pipelines.domain.annotations import MOST_LABEL, MOST_NOTE
from pipelines.domain.moments import day_end_ms
from pipelines.domain.requests import AnnotateRequest
from pipelines.domain.savepoints import Savepoint

UNTIL = "After this day it may be disposed of. Nothing disposes of it by itself."


def draw(savepoint: Savepoint, *, key: str) -> None:
    """Note and best before, with the button that opens the fields in their place."""
    open_for = f"annotating_{key}"
    if st.session_state.get(open_for) == savepoint.id:
        _fields(savepoint, open_for)
        return
    with st.container(horizontal=True, vertical_alignment="top", key=f"annotation_{key}"):
        st.html(said(savepoint, session.now_ms()), width="stretch")
        if st.button("Edit", icon=":material/edit:", type="tertiary", key=f"annotate_{key}", help="Label, note, best before"):
            st.session_state[open_for] = savepoint.id
            st.rerun()


def said(savepoint: Savepoint, now_ms: float) -> str:
    """Note and best before as HTML."""
    note = f"<p>{escape(savepoint.note)}</p>" if savepoint.note else '<p class="tm-muted">No note.</p>'
    return f'<div class="tm-note-text">{note}{until_chip(savepoint, now_ms)}</div>'


def until_chip(savepoint: Savepoint, now_ms: float) -> str:
    """Best before as a chip, orange when it is past; nothing where it has none."""
    at_ms = savepoint.best_before_ms
    if at_ms is None:
        return ""
    words = f"best before {day(at_ms):%b %-d, %Y} · {formats.ago(at_ms, now_ms)}"
    return chip(words, "orange" if past(savepoint, now_ms) else "gray", hint=f"{formats.exact(at_ms, session.zone())}. {UNTIL}")


def day(at_ms: int) -> date:
    """The day that a moment is in, where the browser is."""
    return datetime.fromtimestamp(at_ms / 1_000, session.zone()).date()


def best_before(label: str, at_ms: int | None, *, key: str, help: str = UNTIL) -> int | None:
    """A date field; returns the request's `best_before_ms`: None where the day is as it was, 0 where it was taken away."""
    before, today = day(at_ms) if at_ms else None, day(int(session.now_ms()))
    earliest, latest = today - timedelta(days=365), today + timedelta(days=365 * 20)
    chosen = st.date_input(
        label,
        before,
        min_value=min(earliest, before or earliest),
        max_value=max(latest, before or latest),
        format="YYYY-MM-DD",
        key=key,
        help=help,
    )
    if chosen == before:
        return None
    return day_end_ms(datetime(chosen.year, chosen.month, chosen.day, tzinfo=session.zone())) if isinstance(chosen, date) else 0


def _fields(savepoint: Savepoint, open_for: str) -> None:
    place = f"annotation_{savepoint.id}"
    with st.form(f"form_{place}", border=False):
        left, right = st.columns([3, 1], gap="medium")
        with left:
            label = st.text_input("Label", savepoint.label, max_chars=MOST_LABEL, key=f"{place}_label")
            note = st.text_area("Note", savepoint.note, max_chars=MOST_NOTE, height=110, key=f"{place}_note")
        with right:
            until_ms = best_before("Best before", savepoint.best_before_ms, key=f"{place}_until")
            st.caption(UNTIL)
        with st.container(horizontal=True):
            save = st.form_submit_button("Save", type="primary", icon=":material/check:", key=f"{place}_save")
            drop = st.form_submit_button("Cancel", key=f"{place}_cancel")
    if save:
        with errors_shown():
            _save(savepoint, AnnotateRequest(_other(label, savepoint.label), _other(note, savepoint.note), until_ms))
            drop = True
    if drop:
        st.session_state.pop(open_for, None)
        st.rerun()


def _other(typed: str | None, before: str) -> str | None:
    """What was typed, None where that is as it was."""
    return None if (typed or "") == before else typed or ""


def _save(savepoint: Savepoint, request: AnnotateRequest) -> None:
    if request != AnnotateRequest():
        session.workspace().annotate(savepoint.id, request)
