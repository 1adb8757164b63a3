"""One variant's code in the editor, beside the difference to the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape

import streamlit as st

from dashboard import gallery, session, undo
from dashboard.components.code_editor import code_editor, syntax_diagnostics
from dashboard.views import code_files, server_scripts
from dashboard.views.fork.code_changes import changed_files
from dashboard.views.fork.drafts import Variant
from dashboard.widgets import chip, close, errors_shown, popover
from pipelines.domain.texts import changed_lines
from pipelines.domain.versions import Version

MODES = {"edit": "Code", "unified": "Changes", "split": "Side by side"}
"""As on the page of a job."""
EDITOR_PX = 590
Keep = Callable[[Variant], object]


def code(original: Version, whose: str, key: str, variant: Variant, keep: Keep) -> Variant:
    """The editor below its bar, and the variant with what was typed; `whose` says what the original is (`the savepoint`).

    Who draws it keeps that, and draws it again with what Python says about it (`draw_again`)."""
    mode, path = _bar(original, whose, key, variant, keep)
    text = variant.text(path)
    typed = code_editor(
        text,
        key=f"fork_{key}" + f"_{path}" * bool(path),
        original=_original(original, path),
        mode=mode,  # type: ignore[arg-type]
        diagnostics=syntax_diagnostics(text, path or variant.script) if not path or path.endswith(".py") else [],
        height=EDITOR_PX,
        revision=variant.revision,
        label=f"Code of variant {variant.letter}",
        script=path or variant.script,
    )
    return variant.typed(path, typed)


def _original(original: Version, path: str) -> str:
    return original.files.get(path, "") if path else original.code


def _bar(original: Version, whose: str, key: str, variant: Variant, keep: Keep) -> tuple[str, str]:
    """The view, and the file beside the script that is edited (empty: the script)."""
    with st.container(horizontal=True, vertical_alignment="center", key="fork_bar"):
        head = st.container(width="stretch")
        path = code_files.choose(variant.script, code_files.texts(variant.files), f"fork_file_{key}")
        title = escape(path or variant.script)
        head.html(f'<div class="tm-head"><strong>{title}</strong>{_changed(original, whose, variant, path)}</div>')
        _load(original, whose, variant, keep)
        selected = session.selected("mode", "edit")
        mode = st.segmented_control(
            "View",
            list(MODES),
            default=selected if selected in MODES else "edit",
            required=True,
            format_func=MODES.__getitem__,
            key="fork_mode",
            label_visibility="collapsed",
        )
        session.select(mode="" if mode == "edit" else str(mode))
    return str(mode or "edit"), path


def _changed(original: Version, whose: str, variant: Variant, path: str) -> str:
    """How the shown file differs, and where it does not, whether another one does."""
    added, removed = changed_lines(_original(original, path), variant.text(path))
    if added or removed:
        return chip(f"+{added}", "green", mono=True) + chip(f"−{removed}", "red", mono=True)
    if not original.code:
        return chip("no code yet", "orange")
    others = variant.code != original.code or bool(changed_files(variant, original))
    return chip("another file is changed", "blue") if others else chip(f"same code as {whose}", "gray")


def _load(original: Version, whose: str, variant: Variant, keep: Keep) -> None:
    """Another script into the editor: of the gallery, a file, or the original again."""
    with popover("Load script…", icon=":material/file_open:", key="fork_load"), errors_shown():
        chosen = st.selectbox("From the gallery", gallery.names(), index=None, placeholder="Choose a script", key="fork_gallery")
        path = st.text_input("or a file on the server's machine", placeholder="/home/me/job.py", key="fork_path")
        with st.container(horizontal=True):
            if st.button("Load", type="primary", key="fork_load_now", disabled=not (path or chosen)):
                script = server_scripts.read(path) if path else gallery.from_gallery(str(chosen))
                _replace(variant, script.name, script.code, script.files, keep)
                close("fork_load")
                st.rerun()
            if original.code and st.button(f"Back to the code of {whose}", key="fork_load_original"):
                _replace(variant, original.script, original.code, original.files, keep)
                close("fork_load")
                st.rerun()


def _replace(variant: Variant, script: str, code: str, files: Mapping[str, str], keep: Keep) -> None:
    """Another script in the editor, in place of what was typed; that can come back."""

    def put_back() -> str:
        keep(replace(variant, revision=variant.revision + 2))
        return f"{variant.script} is back as it was typed"

    keep(variant.loaded(script, code, files))
    if variant.code.strip() and variant.code != code:
        undo.offer(f"{script} loaded in place of the code", put_back, here=True)
