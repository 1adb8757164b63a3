"""Export and import of savepoints: destination, plan, start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from dashboard import session
from dashboard.dialogs import answer, dialog
from dashboard.views import operations
from dashboard.views.commands import folded
from dashboard.views.endings import ending, planned
from dashboard.views.savepoints import actions
from dashboard.widgets import errors_shown, facts, message_box, plain_facts
from pipelines.domain.savepoints import ExportPlan, Savepoint
from pipelines.verbs.export import Export
from pipelines.verbs.import_ import Import
from pipelines.words import formats, plans

SHAPES = ("A directory", "One .tar.zst file")
CREDENTIALS = (
    "Credentials come from the environment of Tidemark's server, as fsspec reads them (`AWS_ACCESS_KEY_ID`, "
    "`GOOGLE_APPLICATION_CREDENTIALS`, …). Do not write them into the URL."
)
MOST_SAID = 3
"""So many of several exports are said as commands: the others are like them."""
PLACES = "s3://bucket/savepoints/name, /mnt/archive/name"


def ask_export(savepoint: Savepoint) -> None:
    """Asks for destination, shape and whether to dispose of it afterwards; shows the plan before anything is copied."""

    @dialog(f"Export {formats.short_id(savepoint.id)}", width="medium")
    def ask() -> None:
        url = st.text_input("Destination", key="export_url", placeholder=f"{PLACES}.tar.zst", help="A path on the server, or a URL")
        url = (url or "").strip()
        shape_of_url = SHAPES[1] if url.endswith(".tar.zst") else SHAPES[0]
        shape = st.segmented_control("Format", SHAPES, default=shape_of_url, required=True, key=f"export_shape_{shape_of_url}")
        disposes = st.checkbox(
            "Then dispose of the savepoint here",
            key="export_dispose",
            help="Only once the copy was read back and is intact",
        )
        st.caption(CREDENTIALS)
        change = Export(savepoint.id, url, archive=shape == SHAPES[1], then_dispose=disposes)
        plan = _plan(change) if url else None
        label = "Export, then dispose" if disposes else "Export"
        why_not = None if url else "Enter a destination first"
        icon = ":material/upload:"
        ending(change, label, "export", operations.begin, shown=_shown(change), ready=plan is not None, icon=icon, help=why_not)

    ask()


def _plan(change: Export) -> ExportPlan | None:
    """Shows the plan of an export and returns it; None where it is refused, with the error shown."""
    plan = planned(change)
    if plan is None:
        return None
    plain_facts(plans.export(plan))
    if plan.disposes:
        message_box("What leaves this workspace", plans.LEAVES, tone="orange")
    return plan


def ask_export_all(chosen: Sequence[Savepoint]) -> None:
    """Asks for a folder, and shows what would be copied; each savepoint becomes a file or a directory named by its id."""

    @dialog(f"Export {len(chosen)} savepoints", width="medium")
    def ask() -> None:
        places, hint = "s3://bucket/savepoints, /mnt/archive", "On the server's machine, or a URL"
        folder = (st.text_input("Folder", key="export_all_url", placeholder=places, help=hint) or "").strip()
        shape = st.segmented_control("Format of each", SHAPES, default=SHAPES[1], required=True, key="export_all_shape")
        disposes = st.checkbox(
            "Then dispose of them here",
            key="export_all_dispose",
            help="Each one only after its copy was read back and every checksum was right",
        )
        st.caption(CREDENTIALS)
        exports = exports_of(chosen, folder, archive=shape == SHAPES[1], then_dispose=disposes) if folder else {}
        ready = _plans(chosen, exports) if exports else []
        label = f"Export {len(ready)}" + (", then dispose" if disposes else "")
        if ready:
            folded([_shown(exports[savepoint.id]) for savepoint in ready[:MOST_SAID]])
        yes = answer(label, "export_all", icon=":material/upload:", disabled=not ready)
        if yes and actions.each(ready, lambda savepoint: operations.begin(exports[savepoint.id])):
            st.rerun()

    ask()


def exports_of(chosen: Sequence[Savepoint], folder: str, *, archive: bool, then_dispose: bool) -> dict[str, Export]:
    """Id -> its export, into `folder` under its id."""
    ending = ".tar.zst" if archive else ""
    return {
        savepoint.id: Export(savepoint.id, f"{folder.rstrip('/')}/{savepoint.id}{ending}", archive, then_dispose) for savepoint in chosen
    }


def _plans(chosen: Sequence[Savepoint], exports: Mapping[str, Export]) -> list[Savepoint]:
    """Shows the plans of all exports; returns the savepoints that can be exported. Errors of the others are shown."""
    by_id: dict[str, ExportPlan] = {}
    for savepoint in chosen:
        with errors_shown():
            by_id[savepoint.id] = session.workspace().plan(exports[savepoint.id])
    files, size = sum(plan.files for plan in by_id.values()), sum(plan.bytes for plan in by_id.values())
    first = next((escape(plan.url) for plan in by_id.values()), formats.MISSING)
    facts(
        [
            ("Copies", f"{len(by_id):,} of {len(chosen):,} savepoints"),
            ("Reads", formats.files(files, size)),
            ("The first goes to", f'<span class="tm-mono">{first}</span>'),
        ]
    )
    if any(plan.disposes for plan in by_id.values()):
        message_box("What leaves this workspace", f"Of each savepoint: {plans.LEAVES}", tone="orange")
    return [savepoint for savepoint in chosen if savepoint.id in by_id]


def _shown(change: Export) -> Export:
    """The export as its command shows it: `URL` where none is typed yet, and the shape only where the URL's ending implies another."""
    url = change.url or "URL"
    return replace(change, url=url, archive=None if change.archive == url.endswith(".tar.zst") else change.archive)


def ask_import() -> None:
    """Imports an exported savepoint."""

    @dialog("Import a savepoint into this workspace", width="medium")
    def ask() -> None:
        st.markdown("It keeps its id, is copied whole and checked, and can be forked like any other.")
        url = st.text_input("Where the export is", key="import_url", placeholder=f"{PLACES}.tar.zst", help="As the export printed it")
        url = (url or "").strip()
        st.caption(CREDENTIALS)
        icon = ":material/download:"
        ending(Import(url), "Import", "import", operations.begin, shown=Import(url or "URL"), ready=bool(url), icon=icon)

    ask()
