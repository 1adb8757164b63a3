"""The annotation of a savepoint: shown, and edited in place. What was typed stays where a change is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from html import escape

import streamlit as st

from dashboard import once, permitted, session, undo
from dashboard.views.savepoints import actions
from dashboard.views.savepoints.filters import past
from dashboard.widgets import chip
from pipelines.domain import texts
from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict
from pipelines.domain.moments import day_end_ms
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.words import formats

Changes = Sequence[tuple[Savepoint, Savepoint]]
"""Savepoints as they were and as they are."""
UNTIL = "After this day it may be disposed of. Nothing disposes of it by itself."


def draw(savepoint: Savepoint, *, key: str) -> None:
    """Note and best before, with the button that opens the fields in their place."""
    open_for = f"annotating_{key}"
    if st.session_state.get(open_for) == savepoint.id:
        _fields(savepoint, open_for)
        return
    with st.container(horizontal=True, vertical_alignment="top", key=f"annotation_{key}"):
        st.html(annotation_html(savepoint, session.now_ms()), width="stretch")
        if permitted.button(
            "Edit", Role.OPERATOR, icon=":material/edit:", type="tertiary", key=f"annotate_{key}", help="Label, note, best before"
        ):
            st.session_state[open_for] = savepoint.id
            st.rerun()


def annotation_html(savepoint: Savepoint, now_ms: float) -> str:
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


def best_before(at_ms: int | None, *, key: str) -> int | None:
    """A date field; returns the request's `best_before_ms`: None where the day is as it was, 0 where it was taken away."""
    before, today = day(at_ms) if at_ms else None, day(int(session.now_ms()))
    earliest, latest = today - timedelta(days=365), today + timedelta(days=365 * 20)
    chosen = st.date_input(
        "Best before",
        before,
        min_value=min(earliest, before or earliest),
        max_value=max(latest, before or latest),
        format="YYYY-MM-DD",
        key=key,
        help=UNTIL,
    )
    if chosen == before:
        return None
    return day_end_ms(datetime(chosen.year, chosen.month, chosen.day, tzinfo=session.zone())) if isinstance(chosen, date) else 0


def _fields(savepoint: Savepoint, open_for: str) -> None:
    place = f"annotation_{savepoint.id}"
    with st.form(f"form_{place}", border=False):
        left, right = st.columns([3, 1], gap="medium")
        with left:
            label = st.text_input("Label", savepoint.label, max_chars=texts.LABEL.most, key=f"{place}_label")
            note = st.text_area("Note", savepoint.note, max_chars=texts.NOTE.most, height=110, key=f"{place}_note")
        with right:
            until_ms = best_before(savepoint.best_before_ms, key=f"{place}_until")
            st.caption(UNTIL)
        with st.container(horizontal=True):
            save = st.form_submit_button("Save", type="primary", icon=":material/check:", key=f"{place}_save")
            close = st.form_submit_button("Cancel", key=f"{place}_cancel")
    change = Annotate(savepoint.id, _other(label, savepoint.label), _other(note, savepoint.note), until_ms)
    if close or (save and (change == Annotate(savepoint.id) or annotate([savepoint], change))):
        st.session_state.pop(open_for, None)
        st.rerun()


def _other(typed: str | None, before: str) -> str | None:
    """The typed text; None where it is unchanged."""
    return None if (typed or "") == before else typed or ""


def annotate(chosen: Sequence[Savepoint], change: Annotate) -> bool:
    """Applies `change` to each savepoint, and offers to undo it; returns whether all are done."""
    changes: list[tuple[Savepoint, Savepoint]] = []

    def annotate_savepoint(savepoint: Savepoint) -> None:
        before = session.workspace().ask(ShowSavepoint(savepoint.id))
        changes.append((before, once.do(replace(change, savepoint=savepoint.id))))

    done = actions.each(chosen, annotate_savepoint)
    changed = [(before, after) for before, after in changes if _words(before) != _words(after)]
    if changed:
        undo.offer(f"{_names(changed)} of {_which(changed)} changed".capitalize(), partial(_put_back, changed))
    return done


def _words(savepoint: Savepoint) -> tuple[object, ...]:
    return (savepoint.label, savepoint.note, savepoint.best_before_ms)


def _names(changes: Changes) -> str:
    """The names of the fields that changed in any of them: `label and note`."""
    names = ("label", "note", "best-before date")
    changed = [name for place, name in enumerate(names) if any(_words(before)[place] != _words(after)[place] for before, after in changes)]
    return " and ".join(filter(None, (", ".join(changed[:-1]), changed[-1])))


def _which(changes: Changes) -> str:
    return formats.short_id(changes[0][0].id) if len(changes) == 1 else f"{len(changes):,} savepoints"


def _put_back(changes: Changes) -> str:
    """Restores the former annotation of each; one that was annotated again since keeps that."""
    failed = actions.refusals(changes, lambda change: _restore(*change))
    if len(failed) == len(changes):
        raise failed[0]
    if failed:
        return f"{len(changes) - len(failed):,} of {len(changes):,} are as before. {failed[0].message}"
    return f"{_names(changes)} of {_which(changes)} as before".capitalize()


def _restore(before: Savepoint, after: Savepoint) -> None:
    if _words(session.workspace().ask(ShowSavepoint(before.id))) != _words(after):
        message = f"{formats.short_id(before.id)} was annotated again meanwhile"
        raise Conflict("annotation.changed_since", message, "It stays as it is now.")
    label = None if before.label == after.label else before.label
    note = None if before.note == after.note else before.note
    until_ms = None if before.best_before_ms == after.best_before_ms else before.best_before_ms or 0
    once.do(Annotate(before.id, label, note, until_ms))
