"""All savepoints: find one, look into it, fork it, go back to it, check it, dispose of it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import address, navigation, permitted, progress, session
from dashboard.dialogs import redraw
from dashboard.key_figures import key_figures
from dashboard.views import operations, schedules
from dashboard.views.commands import commands
from dashboard.views.live import live, live_switch
from dashboard.views.savepoints import bulk, exports, figures, filters
from dashboard.views.savepoints.detail import detail
from dashboard.views.savepoints.table import savepoint_table
from dashboard.widgets import command, empty_state, errors_shown, message_box, page_header
from pipelines.domain.access import Role
from pipelines.domain.operations import Operation
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ShowSpace
from pipelines.verbs.take import Take
from pipelines.words import formats

TEACHES = (
    "A savepoint is an image of a job's state at a committed batch. It costs almost nothing, never expires, "
    "and any number of jobs can begin from it, with the same code or with other code."
)
ADDRESS = {"past": address.YES}


def page() -> None:
    """Draws the catalog of savepoints with what the address selects in it."""
    with errors_shown():
        _draw()


def _draw() -> None:
    every = session.workspace().ask(ListSavepoints())
    with page_header("Savepoints", caption=_caption(every)):
        commands(
            [ListSavepoints(), ShowSpace(), Take("JOB"), ("What is under way", ListOperations(running=True))], key="savepoints_command"
        )
        on = live_switch()
        if permitted.button("Schedule…", Role.OPERATOR, icon=":material/schedule:", key="schedule"):
            schedules.ask_schedule("")
        if permitted.button("Import…", Role.OPERATOR, icon=":material/download:", key="import"):
            exports.ask_import()
    operations.under_way(_concerns_savepoints, key="savepoints")
    if not every:
        _teach()
        return
    st.session_state["savepoints_drawn"] = _chosen()
    chosen = [savepoint for name in _chosen() for savepoint in every if savepoint.id == name]
    _gone([name for name in _chosen() if name not in {savepoint.id for savepoint in every}])
    if len(chosen) > 1:
        bulk.bulk(chosen)
    if len(chosen) != 1:
        live(_catalog, on)
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:
        live(_catalog, on)
    with right:
        detail(chosen[0], key="catalog")


def _gone(names: Sequence[str]) -> None:
    """Says which of those that the address names are not there."""
    if names:
        hint = "It was disposed of, or is of another workspace: the events say which." if len(names) == 1 else "The events say why."
        message_box(f"There is no savepoint {' or '.join(names)}", hint, tone="orange")


def _concerns_savepoints(operation: Operation) -> bool:
    kind = progress.kind_of(operation)
    return kind.checks or kind.makes


def _caption(every: Sequence[Savepoint]) -> str:
    return formats.plural(len({savepoint.job for savepoint in every}), "job") if every else ""


def _teach() -> None:
    with empty_state("No savepoints yet", TEACHES, key="savepoints"):
        if st.button("Choose a job", type="primary", icon=":material/bookmark_add:"):
            navigation.go("overview")
        command("python -m pipelines savepoint JOB", label="or from a shell")
        st.caption("Import… brings back one that was exported.", width="content")


def _chosen() -> list[str]:
    return [name for name in session.selected("savepoint").split(",") if name]


def _catalog() -> None:
    """The live part: figures, filters, table."""
    with errors_shown():
        every, now = session.shared(ListSavepoints()), session.now_ms()
        if _changed(every):
            redraw()
        key_figures(figures.figures(every, session.space(), now), min_width=150)
        shown = filters.filtered(every, now)
        if not shown:
            st.caption("No savepoint fits. Choose another job, origin or trust, or clear the filter.")
            return
        picked = _chosen()
        clicked = savepoint_table(shown, session.spaces(), now, key="savepoints", label="Savepoints", picked=picked)
        if clicked:
            session.select(savepoint="" if picked == [clicked] else clicked)
        if _chosen() != st.session_state["savepoints_drawn"]:
            redraw()


def _changed(every: Sequence[Savepoint]) -> bool:
    """Whether a savepoint was added, removed, verified or annotated since the rest of the page was drawn."""
    now = [
        (
            savepoint.id,
            savepoint.trust,
            savepoint.damaged_files,
            savepoint.label,
            savepoint.note,
            savepoint.best_before_ms,
            savepoint.holdings and savepoint.holdings.usable,
        )
        for savepoint in every
    ]
    before, st.session_state["savepoints_seen"] = st.session_state.get("savepoints_seen", now), now
    return bool(now != before)
