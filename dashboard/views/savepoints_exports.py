"""Savepoints on their way out of the workspace and back: what an export would do, the start, and the import of one."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import equivalents, formats, session
from dashboard.dialogs import dialog
from dashboard.views import operations
from dashboard.views.commands import listed
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
