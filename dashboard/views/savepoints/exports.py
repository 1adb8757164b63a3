"""Savepoints on their way out of the workspace and back: what an export would do, the start, and the import of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from dashboard import equivalents, formats, session
from dashboard.dialogs import dialog
from dashboard.views import operations
from dashboard.views.commands import listed
from dashboard.views.savepoints import actions
from dashboard.widgets import error_box, errors_shown, facts, message_box
from pipelines.domain.errors import TidemarkError
from pipelines.domain.requests import ExportRequest, ImportRequest
from pipelines.domain.savepoints import ExportPlan, Savepoint

SHAPES = ("A directory", "One .tar.zst file")
HOWS = {"copy": "copied", "stream": "streamed", "link": "hard-linked", "reflink": "reflinked"}
CREDENTIALS = (
    "Credentials come from the environment of Tidemark's server, as fsspec reads them (`AWS_ACCESS_KEY_ID`, "
    "`GOOGLE_APPLICATION_CREDENTIALS`, …). Do not write them here: they would not be kept, and must not be."
)
MOST_SAID = 3
"""So many of several exports are said as commands: the others are like them."""
PLACES = "s3://bucket/savepoints/name, /mnt/archive/name"


def ask_export(savepoint: Savepoint) -> None:
    """Where to, in what shape, whether it stays here; the plan before anything is copied."""

    @dialog(f"Export {formats.short_id(savepoint.id)}", width="medium")
    def ask() -> None:
        url = st.text_input("Where to", key="export_url", placeholder=f"{PLACES}.tar.zst", help="A path on the server's machine, or a URL")
        url = (url or "").strip()
        ending = SHAPES[1] if url.endswith(".tar.zst") else SHAPES[0]
        shape = st.segmented_control("As", SHAPES, default=ending, required=True, key=f"export_shape_{ending}")
        disposes = st.checkbox("Then dispose of it here", key="export_dispose", help="Only once the copy was read back and found intact")
        st.caption(CREDENTIALS)
        request = ExportRequest(url, archive=shape == SHAPES[1], then_dispose=disposes)
        plan = _plan(savepoint, request) if url else None
        label = "Export, then dispose" if disposes else "Export"
        why_not = None if url else "Say where to first"
        if st.button(label, type="primary", icon=":material/upload:", key="export_yes", disabled=plan is None, help=why_not):
            with errors_shown():
                going = session.workspace().export(savepoint.id, request)
                if not isinstance(going, ExportPlan):
                    operations.begin(going)
                    st.rerun()
        said = equivalents.export(savepoint.id, session.url(), url, archive=bool(request.archive), then_dispose=disposes)
        with st.expander("Command", icon=":material/terminal:"):
            listed([said])

    ask()


def _plan(savepoint: Savepoint, request: ExportRequest) -> ExportPlan | None:
    """What would be copied, shown; None where it would be refused, which is said beside the field."""
    try:
        plan = session.workspace().export(savepoint.id, ExportRequest(request.url, request.archive, request.then_dispose, dry_run=True))
    except TidemarkError as error:
        error_box(error)
        return None
    if not isinstance(plan, ExportPlan):
        return None
    less = " read; the file is usually smaller" if plan.archive else ""
    facts(
        [
            ("Copies", f"{formats.plural(plan.files, 'file')}, {formats.size(plan.bytes)}{less}"),
            ("Becomes", "one compressed file" if plan.archive else "a directory"),
            ("How", escape(HOWS.get(plan.how, plan.how))),
        ]
    )
    if plan.disposes:
        says = f"{plan.savepoint} is deleted here once the copy was read back and is intact. Import it from there to have it back."
        message_box("It leaves this workspace", says, tone="orange")
    return plan


def ask_export_all(chosen: Sequence[Savepoint]) -> None:
    """Into which folder, and what would be copied; each becomes a file, or a directory, of its id."""

    @dialog(f"Export {len(chosen)} savepoints", width="medium")
    def ask() -> None:
        places, hint = "s3://bucket/savepoints, /mnt/archive", "On the server's machine, or a URL"
        folder = (st.text_input("Folder", key="export_all_url", placeholder=places, help=hint) or "").strip()
        shape = st.segmented_control("Each as", SHAPES, default=SHAPES[1], required=True, key="export_all_shape")
        disposes = st.checkbox("Then dispose of them here", key="export_all_dispose", help="Each once its copy was read back and is intact")
        st.caption(CREDENTIALS)
        wanted = requests(chosen, folder, archive=shape == SHAPES[1], then_dispose=disposes) if folder else {}
        ready = _plans(chosen, wanted) if wanted else []
        label = f"Export {len(ready)}" + (", then dispose" if disposes else "")
        yes = st.button(label, type="primary", icon=":material/upload:", key="export_all_yes", disabled=not ready)
        if ready:
            with st.expander("Command", icon=":material/terminal:"):
                listed([_said(one, wanted[one.id]) for one in ready[:MOST_SAID]])
        if yes and actions.each(ready, lambda one: _begin(one, wanted[one.id])):
            st.rerun()

    ask()


def requests(chosen: Sequence[Savepoint], folder: str, *, archive: bool, then_dispose: bool) -> dict[str, ExportRequest]:
    """Id -> its export, into `folder` under its id."""
    ending = ".tar.zst" if archive else ""
    return {one.id: ExportRequest(f"{folder.rstrip('/')}/{one.id}{ending}", archive, then_dispose) for one in chosen}


def _plans(chosen: Sequence[Savepoint], wanted: Mapping[str, ExportRequest]) -> list[Savepoint]:
    """What would be copied, shown; those that can be. Those that are refused are said."""
    plans: dict[str, ExportPlan] = {}
    for one in chosen:
        with errors_shown():
            plan = session.workspace().export(one.id, replace(wanted[one.id], dry_run=True))
            if isinstance(plan, ExportPlan):
                plans[one.id] = plan
    files, size = sum(plan.files for plan in plans.values()), sum(plan.bytes for plan in plans.values())
    first = next((escape(plan.url) for plan in plans.values()), formats.MISSING)
    facts(
        [
            ("Copies", f"{len(plans):,} of {len(chosen):,} savepoints"),
            ("Reads", f"{formats.plural(files, 'file')}, {formats.size(size)}"),
            ("The first becomes", f'<span class="tm-mono">{first}</span>'),
        ]
    )
    if any(plan.disposes for plan in plans.values()):
        says = "Each is deleted here once its copy was read back and is intact. Import it from there to have it back."
        message_box("They leave this workspace", says, tone="orange")
    return [one for one in chosen if one.id in plans]


def _said(savepoint: Savepoint, request: ExportRequest) -> equivalents.Equivalent:
    shape = bool(request.archive)
    return equivalents.export(savepoint.id, session.url(), request.url, archive=shape, then_dispose=request.then_dispose)


def _begin(savepoint: Savepoint, request: ExportRequest) -> None:
    going = session.workspace().export(savepoint.id, request)
    if not isinstance(going, ExportPlan):
        operations.begin(going)


def ask_import() -> None:
    """Brings back what an export put somewhere."""

    @dialog("Import a savepoint", width="medium")
    def ask() -> None:
        st.markdown("It comes into this workspace under the id it has, whole and checked, and can be forked like any other.")
        url = st.text_input("Where it is", key="import_url", placeholder=f"{PLACES}.tar.zst", help="What an export printed: a path or URL")
        url = (url or "").strip()
        st.caption(CREDENTIALS)
        if st.button("Import", type="primary", icon=":material/download:", key="import_yes", disabled=not url):
            with errors_shown():
                operations.begin(session.workspace().import_savepoint(ImportRequest(url)))
                st.rerun()
        with st.expander("Command", icon=":material/terminal:"):
            listed([equivalents.import_savepoint(session.url(), url)])

    ask()
