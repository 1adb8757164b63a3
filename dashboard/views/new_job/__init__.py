"""A new job: a script of the gallery, of this machine or pasted, its arguments and confs, and the start; or one that runs elsewhere."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dashboard import address, gallery, navigation, permitted, session
from dashboard.components.code_editor import Diagnostic, code_editor, syntax_diagnostics
from dashboard.views import changes, homes, operations
from dashboard.views.commands import commands
from dashboard.views.new_job import attach, example, form
from dashboard.views.new_job.form import Draft
from dashboard.widgets import draw_again, errors_shown, page_header
from pipelines.domain.access import Role
from pipelines.domain.homes import WORKSPACE
from pipelines.domain.jobs import Run
from pipelines.verbs.run import RunScript

ATTACH = "Runs elsewhere"
START, BEGINNING = "start", "new_job_begins"
SOURCES = ("Gallery", "File", "Paste", ATTACH)
ADDRESS = {"source": address.one_of(*SOURCES)}


def page() -> None:
    """Draws the form; nothing that was typed is lost by an error."""
    head, told = st.container(), st.container()
    bar = st.container(horizontal=True, vertical_alignment="center", key="new_bar")
    with bar:
        source = _source()
    if source == ATTACH:
        attach.draw(head)
        return
    if source == SOURCES[0]:
        with told:
            address.check_among("script", gallery.names(), "script")
    code_column, form_column = st.columns([7, 3], gap="medium")
    draft: Draft | None = None
    change: RunScript | None = None
    diagnostics: list[Diagnostic] = []
    with bar, errors_shown():
        draft = form.chosen(source)
    with code_column, errors_shown():
        draft, diagnostics = _editor(draft) if draft else (None, [])
    with form_column, errors_shown():
        if draft and source == SOURCES[0]:
            example.draw(draft)
        change = form.draw(draft) if draft else None
        _at_home(change)
    with head, errors_shown():
        _head(change, diagnostics)


def _source() -> str:
    """The origin of the script; its name is in the address."""
    chosen = st.segmented_control(
        "From", SOURCES, default=SOURCES[0], required=True, key="source", bind="query-params", label_visibility="collapsed"
    )
    return str(chosen or SOURCES[0])


def _head(change: RunScript | None, diagnostics: list[Diagnostic]) -> None:
    why_not = _why_not(change, diagnostics)
    with page_header("New job"):
        if change:
            commands([_from_file(change)], key="new_command")
        start = permitted.button(
            "Start", Role.AUTHOR, type="primary", icon=":material/play_arrow:", key=START, disabled=bool(why_not), help=why_not or None
        )
    if start and change and not why_not:
        _open(changes.ask(BEGINNING, change, f"{change.name} was begun"))
    if changes.is_asked(BEGINNING):
        operations.under_way(lambda operation: operation.kind == "run", key="new_job")
    _open(changes.answered(BEGINNING))


def _at_home(change: RunScript | None) -> None:
    """Where the job's bytes will lie, or why they cannot, where that is not the workspace."""
    if change is not None and change.name and change.code.strip() and (change.home or homes.of_new_jobs()) != WORKSPACE:
        st.caption(f"Checkpoint, output and savepoints: {session.workspace().plan(change).place}. It begins with no bytes there.")


def _open(run: object | None) -> None:
    """Opens the job once it has begun: one with requirements begins when its environment is made."""
    if isinstance(run, Run):
        form.forget()
        navigation.go("job", job=run.job)


def _why_not(change: RunScript | None, diagnostics: list[Diagnostic]) -> str:
    """The reason why it cannot be started yet; empty if it can."""
    if change is None:
        return "Correct what is marked first"
    if not change.code.strip():
        return "There is no code yet"
    if diagnostics:
        return f"Line {diagnostics[0].line}: {diagnostics[0].message}"
    if any(form.NO_INPUT in argument for argument in change.args):
        return f"Generate its input, or write a directory instead of {form.NO_INPUT}"
    return "" if change.name else "Give it a name"


def _from_file(change: RunScript) -> RunScript:
    """The same with the file that the script was read from, as a shell reads it: what it needs beside it comes along there, too."""
    return replace(change, script=change.source or change.script, source="", files={})


def _editor(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The editor with its diagnostics; returns the draft with what was typed, which is kept, and the diagnostics of that."""
    diagnostics = _diagnostics(draft)
    typed = code_editor(
        draft.code,
        key="new_code",
        diagnostics=diagnostics,
        height=640,
        revision=draft.revision,
        label="Code of the new job",
        script=form.script_name(draft),
    )
    if draft.files:
        st.caption(f"The job's version includes {', '.join(sorted(draft.files))}.")
    if typed == draft.code:
        return draft, diagnostics
    now = draft.typed(typed)
    form.keep(now)
    draw_again(True, START)
    return now, _diagnostics(now)


def _diagnostics(draft: Draft) -> list[Diagnostic]:
    return syntax_diagnostics(draft.code, form.script_name(draft)) if draft.code.strip() else []
