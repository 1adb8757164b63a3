"""One variant: its code in the editor with the difference to the original, and its name, arguments and confs as a form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from dashboard import gallery, session
from dashboard.components.code_editor import code_editor, syntax_diagnostics
from dashboard.views.fork.drafts import Variant, confs_text, difference
from dashboard.widgets import chip, errors_shown
from pipelines.domain.savepoints import Manifest

MODES = {"edit": "Edit", "unified": "Unified", "split": "Split"}
EDITOR_PX = 590
Keep = Callable[[Variant], None]


def code(manifest: Manifest, variant: Variant, keep: Keep) -> Variant:
    """The editor below its bar. What was typed is kept, and drawn again with what Python says about it."""
    mode = _bar(manifest, variant, keep)
    typed = code_editor(
        variant.code,
        key=f"fork_{manifest.id}_{variant.letter}",
        original=manifest.version.code,
        mode=mode,  # type: ignore[arg-type]
        diagnostics=syntax_diagnostics(variant.code, variant.script),
        height=EDITOR_PX,
        revision=variant.revision,
        label=f"Code of variant {variant.letter}",
    )
    if typed != variant.code:
        keep(replace(variant, code=typed))
        st.rerun()
    return variant


def _bar(manifest: Manifest, variant: Variant, keep: Keep) -> str:
    with st.container(horizontal=True, vertical_alignment="center", key="fork_bar"):
        added, removed = difference(manifest.version.code, variant.code)
        changed = chip(f"+{added}", "green", mono=True) + chip(f"−{removed}", "red", mono=True)
        same = chip("same code as the savepoint", "gray")
        said = changed if added or removed else same
        st.html(f'<div class="tm-head"><strong>{variant.script}</strong>{said}</div>', width="stretch")
        _load(manifest, variant, keep)
        wanted = session.selected("mode", "edit")
        mode = st.segmented_control(
            "View",
            list(MODES),
            default=wanted if wanted in MODES else "edit",
            required=True,
            format_func=MODES.__getitem__,
            key="fork_mode",
            label_visibility="collapsed",
        )
        session.select(mode="" if mode == "edit" else str(mode))
    return str(mode or "edit")


def _load(manifest: Manifest, variant: Variant, keep: Keep) -> None:
    """Another script into the editor: of the gallery, a file, or the savepoint's own again."""
    with st.popover("Load script…", icon=":material/file_open:", key="fork_load"), errors_shown():
        chosen = st.selectbox("From the gallery", gallery.names(), index=None, placeholder="Choose a script", key="fork_gallery")
        path = st.text_input("or a file on the server's machine", placeholder="/home/me/job.py", key="fork_path")
        with st.container(horizontal=True):
            if st.button("Load", type="primary", key="fork_load_now", disabled=not (path or chosen)):
                script = gallery.from_path(path) if path else gallery.from_gallery(str(chosen))
                keep(variant.loaded(script.name, script.code))
                st.rerun()
            if st.button("Back to the savepoint's", key="fork_load_original"):
                keep(variant.loaded(manifest.version.script, manifest.version.code))
                st.rerun()


def settings(manifest: Manifest, variant: Variant, with_parent: bool) -> tuple[Variant, bool]:
    """The form; returns the variant as it stands now, and whether the savepoint's own job is compared too."""
    key = f"{manifest.id}_{variant.letter}"
    with st.container(border=True, key="card_form"):
        st.html('<div class="tm-section"><h2>New job</h2></div>')
        name = st.text_input("Name", variant.name, key=f"fork_name_{key}", max_chars=100)
        arguments = st.text_area(
            "Arguments",
            variant.arguments,
            key=f"fork_args_{key}",
            height=104,
            help="As in a shell. {output} becomes the new job's own output directory.",
        )
        confs = st.text_area(
            "Spark confs",
            variant.confs,
            key=f"fork_confs_{key}",
            height=80,
            placeholder=confs_text({"spark.executor.memory": "2g"}),
            help="One name=value a line, added to what the script sets.",
        )
        master = st.text_input("Master", variant.master, key=f"fork_master_{key}", help="local[2], spark://…, yarn, k8s://…")
        compared = st.toggle(
            f"Compare with {manifest.job}", with_parent, key=f"fork_parent_{manifest.id}", help="An experiment: both jobs side by side"
        )
    return replace(variant, name=name or "", arguments=arguments or "", confs=confs or "", master=master or ""), compared
