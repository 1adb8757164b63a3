"""One variant: its code in the editor with the difference to the original, and its name, arguments and confs as a form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from html import escape

import streamlit as st

from dashboard import gallery, session, undo
from dashboard.components.code_editor import code_editor, syntax_diagnostics
from dashboard.views import code_files
from dashboard.views.fork.drafts import Variant, changed_files, confs_text, difference, unknown_queries
from dashboard.widgets import chip, close, errors_shown, popover
from pipelines.domain.rewrites import MOST_PARTITIONS
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version

MODES = {"edit": "Edit", "unified": "Unified", "split": "Split"}
EDITOR_PX = 590
CONTINUE, FRESH = "continue", "fresh"
SINKS = {CONTINUE: "Continue", FRESH: "Fresh"}
"""What a fork's file sink does with the parent's output."""
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
    added, removed = difference(_original(original, path), variant.text(path))
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
                script = gallery.from_path(path) if path else gallery.from_gallery(str(chosen))
                _replace(variant, script.name, script.code, script.files, keep)
                close("fork_load")
                st.rerun()
            if original.code and st.button(f"Back to that of {whose}", key="fork_load_original"):
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


def settings(manifest: Manifest, variant: Variant, with_parent: bool) -> tuple[Variant, bool]:
    """The form; returns the variant as it stands now, and whether the savepoint's own job is compared too."""
    key = f"{manifest.id}_{variant.letter}"
    with st.container(border=True, key="card_form"):
        st.html('<div class="tm-section"><h2>New job</h2></div>')
        name = st.text_input("Name", variant.name, key=f"fork_name_{key}", max_chars=100)
        variant = fields(key, replace(variant, name=name or ""), {image.query for image in manifest.queries}, "savepoint")
        variant = replace(variant, sinks=_sinks(key, variant, manifest), partitions=_partitions(key, variant, manifest))
        compared = st.toggle(
            f"Compare with {manifest.job}", with_parent, key=f"fork_parent_{manifest.id}", help="An experiment: both jobs side by side"
        )
    return variant, compared


def fields(key: str, variant: Variant, known: Collection[str], holder: str) -> Variant:
    """Arguments, confs, master, runtime, and which queries are new; `known` are those whose state the `holder` holds."""
    arguments = st.text_area(
        "Arguments",
        variant.arguments,
        key=f"fork_args_{key}",
        height=104,
        help="As in a shell. {output} becomes the job's own output directory.",
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
    python = st.text_input(
        "Runtime",
        variant.python,
        key=f"fork_python_{key}",
        placeholder="Tidemark's own",
        help="The Python whose PySpark runs it, as a path: another one is an upgrade of Spark.",
    )
    requirements = st.text_area(
        "Requirements",
        variant.requirements,
        key=f"fork_requirements_{key}",
        height=80,
        placeholder="scikit-learn==1.5.2",
        help="Python packages, as pip's requirements files have them: an environment with them is made before the job begins.",
    )
    variant = replace(variant, arguments=arguments or "", confs=confs or "", master=master or "", python=python or "")
    return replace(variant, requirements=requirements or "", new_queries=_new_queries(key, variant, known, holder))


def _new_queries(key: str, variant: Variant, known: Collection[str], holder: str) -> tuple[str, ...]:
    """Shown where the code names a query that has no state here, or where one was named already."""
    unknown = unknown_queries(variant.code, known)
    options = list(dict.fromkeys((*unknown, *variant.new_queries)))
    if not options:
        return ()
    chosen = st.multiselect(
        "New queries",
        options,
        [query for query in variant.new_queries if query in options],
        key=f"fork_new_{key}",
        accept_new_options=True,
        placeholder="Queries that start without state",
        help="A query without state is refused unless it is named here: a renamed one would silently start without its state.",
    )
    left = [query for query in unknown if query not in chosen]
    if left:
        names = ", ".join(left)
        st.caption(f"The code names {names}, which the {holder} does not hold. Name what is new; the driver refuses the rest.")
    return tuple(str(query) for query in chosen)


def _partitions(key: str, variant: Variant, manifest: Manifest) -> int | None:
    """How many partitions the state gets, where there is any; empty for as many as it has."""
    present = sorted({operator.partitions for image in manifest.queries for operator in image.operators})
    if not present:
        return None
    chosen = st.number_input(
        "Partitions of its state",
        1,
        MOST_PARTITIONS,
        value=variant.partitions,
        step=1,
        key=f"fork_partitions_{key}",
        placeholder=f"{', '.join(map(str, present))}, as it has",
        help="Spark rewrites the state on the fork's own checkpoint before it begins. RocksDB only.",
    )
    return int(chosen) if chosen else None


def _sinks(key: str, variant: Variant, manifest: Manifest) -> dict[str, str]:
    """Per query with a file sink: whether its output goes on from the parent's. Only what differs from `continue` is said."""
    chosen: dict[str, str] = {}
    for image in (query for query in manifest.queries if query.sink_path):
        picked = st.segmented_control(
            f"Output of {image.query}",
            list(SINKS),
            default=variant.sinks.get(image.query, CONTINUE),
            required=True,
            format_func=SINKS.__getitem__,
            key=f"fork_sink_{key}_{image.query}",
            help="Continue: the fork's output holds the history too. Fresh: only what the fork writes itself.",
        )
        if picked and picked != CONTINUE:
            chosen[str(image.query)] = str(picked)
    return chosen
