"""All savepoints: find one, look into it, fork it, go back to it, check it, dispose of it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import formats, navigation, session
from dashboard.views import savepoints_actions
from dashboard.views.commands import commands, said
from dashboard.views.live import live, live_switch
from dashboard.views.savepoints_detail import detail
from dashboard.views.savepoints_table import savepoint_table
from dashboard.widgets import KeyFigure, command, empty_state, errors_shown, key_figures, page_header, section
from pipelines.domain.savepoints import Savepoint, Trust

TEACHES = (
    "A savepoint is an image of a job's state at a committed batch. It costs almost nothing, never expires, "
    "and any number of jobs can begin from it, with the same code or with other code."
)


def page() -> None:
    """Draws the catalog of savepoints with what the address selects in it."""
    with errors_shown():
        _draw()


def _draw() -> None:
    every = session.workspace().savepoints()
    with page_header("Savepoints", caption=_caption(every)):
        shell = (
            said("List them", ["savepoints"], "GET", "/savepoints"),
            said("Take one", ["savepoint", "JOB"], "POST", "/jobs/JOB/savepoints", {"label": ""}),
        )
        commands(shell, key="savepoints_command")
        on = live_switch()
    if not every:
        _teach()
        return
    live(_catalog, on)
    _selection([one for name in _chosen() for one in every if one.id == name])


def _caption(every: Sequence[Savepoint]) -> str:
    return formats.plural(len({one.job for one in every}), "job") if every else ""


def _teach() -> None:
    with empty_state("No savepoints yet", TEACHES, key="savepoints"):
        if st.button("Choose a job", type="primary", icon=":material/bookmark_add:"):
            navigation.go("overview")
        command("python -m pipelines savepoint JOB", label="or from a shell")


def _chosen() -> list[str]:
    return [one for one in session.selected("savepoint").split(",") if one]


def _catalog() -> None:
    """The live part: figures, filters, table."""
    with errors_shown():
        every, now = session.workspace().savepoints(), session.now_ms()
        if _changed(every):
            st.rerun()
        key_figures(_figures(every, now))
        shown = _filtered(every)
        if not shown:
            st.caption("No savepoint is like this. Clear the filter to see all of them.")
            return
        picked = savepoint_table(shown, _chosen(), key="savepoint_table")
        if picked != [one for one in _chosen() if one in {s.id for s in shown}]:
            session.select(savepoint=",".join(picked))
            st.rerun()


def _changed(every: Sequence[Savepoint]) -> bool:
    """Whether one came, went or was checked since the rest of the page was drawn."""
    now = [(one.id, one.trust, one.damaged_files) for one in every]
    before, st.session_state["savepoints_seen"] = st.session_state.get("savepoints_seen", now), now
    return now != before


def _figures(every: Sequence[Savepoint], now_ms: float) -> list[KeyFigure]:
    newest, total, own = every[0], sum(one.bytes for one in every), sum(one.new_bytes for one in every)
    checked = sum(one.trust is not Trust.COMPLETE and not one.damaged_files for one in every)
    damaged = sum(bool(one.damaged_files) for one in every)
    slowest = max(one.took_ms for one in every)
    return [
        KeyFigure("Savepoints", formats.count(len(every)), note=formats.plural(len({one.job for one in every}), "job")),
        KeyFigure("Newest", formats.ago(newest.created_ms, now_ms), note=newest.job, hint=formats.exact(newest.created_ms)),
        KeyFigure("They hold", formats.size(total), note="in all of their files"),
        KeyFigure("They added", formats.size(own), note="the rest is shared with checkpoints", hint="Hard links share their bytes"),
        KeyFigure("Checked", f"{checked} / {len(every)}", **_damage(damaged)),
        KeyFigure("Slowest to take", formats.duration(slowest), note="while the job ran on"),
    ]


def _damage(damaged: int) -> dict[str, object]:
    return {"note": f"{damaged} damaged", "tone": "red"} if damaged else {"note": "by their checksums"}


def _filtered(every: Sequence[Savepoint]) -> list[Savepoint]:
    jobs, wanted = ["", *sorted({str(one.job) for one in every})], session.selected("job")
    with st.container(horizontal=True, vertical_alignment="center", key="savepoints_filters"):
        section("Catalog")
        job = st.selectbox(
            "Job",
            jobs,
            index=jobs.index(wanted) if wanted in jobs else 0,
            format_func=lambda name: name or "All jobs",
            key="savepoints_job",
            label_visibility="collapsed",
            width=220,
        )
        text = st.text_input(
            "Filter",
            session.selected("filter"),
            key="savepoints_filter",
            placeholder="Filter by id, label or reason",
            icon=":material/search:",
            label_visibility="collapsed",
            live=True,
            width=280,
        )
    session.select(job=job or "", filter=text or "")
    return [one for one in every if job in ("", one.job) and _matches(one, (text or "").casefold())]


def _matches(one: Savepoint, text: str) -> bool:
    return any(text in value.casefold() for value in (one.id, one.label, one.reason, one.job, one.version))


def _selection(chosen: Sequence[Savepoint]) -> None:
    if len(chosen) == 1:
        detail(chosen[0], key="catalog")
    elif chosen:
        savepoints_actions.bulk(chosen)
    else:
        st.caption("Select a savepoint to look into it; select several to verify, compare or dispose of them together.")
