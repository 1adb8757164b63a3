"""All savepoints: find one, look into it, fork it, go back to it, check it, dispose of it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import navigation, progress, session
from dashboard.dialogs import redraw
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views import operations
from dashboard.views.commands import commands
from dashboard.views.live import live, live_switch
from dashboard.views.savepoints import bulk, exports, filters
from dashboard.views.savepoints.detail import detail
from dashboard.views.savepoints.table import savepoint_table
from dashboard.widgets import Tone, command, empty_state, errors_shown, page_header
from pipelines.domain.operations import Operation
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.space import Space
from pipelines.domain.trust import Trust
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ShowSpace
from pipelines.verbs.take import Take
from pipelines.words import formats

TEACHES = (
    "A savepoint is an image of a job's state at a committed batch. It costs almost nothing, never expires, "
    "and any number of jobs can begin from it, with the same code or with other code."
)


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
        if st.button("Import…", icon=":material/download:", key="import"):
            exports.ask_import()
    operations.under_way(_concerns_savepoints, key="savepoints")
    if not every:
        _teach()
        return
    live(_catalog, on)
    _selection([savepoint for name in _chosen() for savepoint in every if savepoint.id == name])


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
        key_figures(_figures(every, session.space(), now), min_width=150)
        shown = filters.filtered(every, now)
        if not shown:
            st.caption("No savepoint fits. Choose another job, origin or trust, or clear the filter.")
            return
        picked = savepoint_table(shown, session.spaces(), _chosen(), now, key="savepoint_table")
        if picked != [name for name in _chosen() if name in {s.id for s in shown}]:
            session.select(savepoint=",".join(picked))
            st.rerun()


def _changed(every: Sequence[Savepoint]) -> bool:
    """Whether a savepoint was added, removed, verified or annotated since the rest of the page was drawn."""
    now = [
        (savepoint.id, savepoint.trust, savepoint.damaged_files, savepoint.label, savepoint.note, savepoint.best_before_ms)
        for savepoint in every
    ]
    before, st.session_state["savepoints_seen"] = st.session_state.get("savepoints_seen", now), now
    return bool(now != before)


def _figures(every: Sequence[Savepoint], space: Space | None, now_ms: float) -> list[KeyFigure]:
    newest, jobs = every[0], len({savepoint.job for savepoint in every})
    return [
        KeyFigure("Savepoints", formats.count(len(every)), note=f"of {formats.plural(jobs, 'job')}"),
        KeyFigure("Newest", formats.ago(newest.created_ms, now_ms), note=newest.job, hint=formats.exact(newest.created_ms)),
        *(_sizes(space) if space else (_measured(every),)),
        _verified(every),
    ]


def _measured(every: Sequence[Savepoint]) -> KeyFigure:
    """The key figure that is shown while disk space is measured."""
    files = formats.plural(sum(savepoint.files for savepoint in every), "file")
    return KeyFigure("On disk", "measuring …", note=f"{files} are looked at", hint="What is shared is told by the links of each file")


def _sizes(space: Space) -> list[KeyFigure]:
    return [
        KeyFigure("On disk together", formats.size(space.disk_bytes), note="each byte once", hint="Hard links share their bytes"),
        KeyFigure("Shared", formats.size(space.shared_bytes), note="by several of them", hint="What more than one savepoint holds"),
        KeyFigure("As separate copies", formats.size(space.full_bytes), note=_times(space), hint="The sum of their full sizes"),
        KeyFigure("Deleting all", formats.size(space.frees_bytes), note="would be freed", hint="The rest is in live checkpoints too"),
    ]


def _times(space: Space) -> str:
    times = space.full_bytes / space.disk_bytes if space.disk_bytes else 1.0
    return f"{times:,.1f} times as much" if times >= 1.05 else "no more than now"


def _verified(every: Sequence[Savepoint]) -> KeyFigure:
    """The savepoints whose every checksum was right when they were last looked at."""
    damaged = sum(savepoint.damaged_files > 0 for savepoint in every)
    sound = [savepoint for savepoint in every if not savepoint.damaged_files]
    proved, intact = ({savepoint.id for savepoint in sound if level in savepoint.levels} for level in (Trust.PROVED, Trust.INTACT))
    verified = len(proved | intact)
    note = f"{damaged:,} damaged" if damaged else f"{len(proved):,} of them proved"
    tone: Tone | None = "red" if damaged else "green" if verified == len(every) else None
    hint = (
        "Every checksum was right (intact), or Spark has restored it and run a batch (proved). The others are complete: never read again."
    )
    return KeyFigure("Verified", f"{verified:,} / {len(every):,}", note=note, tone=tone, hint=hint)


def _selection(chosen: Sequence[Savepoint]) -> None:
    if len(chosen) == 1:
        detail(chosen[0], key="catalog")
    elif chosen:
        bulk.bulk(chosen)
    else:
        st.caption("Select a savepoint to look into it; select several to verify, export, label, compare or dispose of them together.")
