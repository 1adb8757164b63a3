"""A new job: a script of the gallery, of this machine or pasted, its arguments and confs, and the start; or one that runs elsewhere."""

from __future__ import annotations

import streamlit as st

from dashboard import equivalents, navigation, session
from dashboard.components.code_editor import Diagnostic, code_editor, syntax_diagnostics
from dashboard.views.commands import commands
from dashboard.views.new_job import attach, form
from dashboard.views.new_job.form import Draft
from dashboard.widgets import draw_again, error_box, errors_shown, page_header
from pipelines.domain.errors import TidemarkError
from pipelines.domain.requests import RunRequest

ATTACH = "Runs elsewhere"
START = "start"
SOURCES = ("Gallery", "File", "Paste", ATTACH)


def page() -> None:
    """Draws the form; nothing that was typed is lost by an error."""
    head = st.container()
    bar = st.container(horizontal=True, vertical_alignment="center", key="new_bar")
    with bar:
        source = _source()
    if source == ATTACH:
        attach.draw(head)
        return
    code_column, form_column = st.columns([7, 3], gap="medium")
    draft: Draft | None = None
    request: RunRequest | None = None
    found: list[Diagnostic] = []
    with bar, errors_shown():
        draft = form.chosen(source)
    with code_column, errors_shown():
        draft, found = _editor(draft) if draft else (None, [])
    with form_column, errors_shown():
        request = form.draw(draft) if draft else None
    with head, errors_shown():
        _head(request, found)


def _source() -> str:
    """Where the job comes from; its name stands in the address."""
    chosen = st.segmented_control(
        "From", SOURCES, default=SOURCES[0], required=True, key="source", bind="query-params", label_visibility="collapsed"
    )
    return str(chosen or SOURCES[0])


def _head(request: RunRequest | None, found: list[Diagnostic]) -> None:
    why_not = _why_not(request, found)
    with page_header("New job"):
        if request:
            commands([_equivalent(request)], key="new_command")
        start = st.button("Start", type="primary", icon=":material/play_arrow:", key=START, disabled=bool(why_not), help=why_not or None)
    if start and request and not why_not:
        try:
            session.workspace().run(request)
        except TidemarkError as error:
            error_box(error)
        else:
            form.forget()
            navigation.go("job", job=request.name)


def _why_not(request: RunRequest | None, found: list[Diagnostic]) -> str:
    """Why it cannot be started as it stands; empty if it can."""
    if request is None:
        return "Correct what is marked first"
    if not request.code.strip():
        return "There is no code yet"
    if found:
        return f"Line {found[0].line}: {found[0].message}"
    return "" if request.name else "Give it a name"


def _equivalent(request: RunRequest) -> equivalents.Equivalent:
    script = request.source or request.script
    return equivalents.run(script, session.url(), name=request.name, args=request.args, conf=request.conf, master=request.master)


def _editor(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The code with what Python says about it: the draft with what was typed, which is kept, and what Python says of that."""
    found = _said(draft)
    typed = code_editor(draft.code, key="new_code", diagnostics=found, height=640, revision=draft.revision, label="Code of the new job")
    if typed == draft.code:
        return draft, found
    now = draft.typed(typed)
    form.keep(now)
    draw_again(True, START)
    return now, _said(now)


def _said(draft: Draft) -> list[Diagnostic]:
    return syntax_diagnostics(draft.code, draft.script) if draft.code.strip() else []
