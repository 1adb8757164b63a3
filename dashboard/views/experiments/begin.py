"""What begins a replay or a bisection: each a dialog that asks for two savepoints of one job, shows the plan, and begins it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import permitted, session
from dashboard.dialogs import dialog
from dashboard.views import operations, restore_plans
from dashboard.views.endings import ending
from dashboard.widgets import error_box, plain_facts
from pipelines.domain.access import Role
from pipelines.domain.bisections import Over
from pipelines.domain.errors import TidemarkError
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.bisect import Bisect
from pipelines.verbs.replay import RunReplay
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import formats
from pipelines.words import savepoints as words

KINDS = ("replay", "bisect")
"""Kinds of operations that are begun here."""


def buttons() -> None:
    """Two buttons, where a job has two savepoints to choose."""
    savepoints = session.workspace().ask(ListSavepoints())
    jobs = [job for job in dict.fromkeys(savepoint.job for savepoint in savepoints) if sum(job == other.job for other in savepoints) > 1]
    if not jobs:
        return
    with st.container(horizontal=True, key="begin_of_two"):
        if permitted.button("Replay…", Role.AUTHOR, icon=":material/replay:", key="replay_begin"):
            _ask_replay(jobs, savepoints)
        if permitted.button("Bisect…", Role.AUTHOR, icon=":material/troubleshoot:", key="bisect_begin"):
            _ask_bisect(jobs, savepoints)


def _ask_replay(jobs: Sequence[str], savepoints: Sequence[Savepoint]) -> None:
    @dialog("Replay what a job read", width="large")
    def ask() -> None:
        st.caption("Changed code runs over exactly what the job read between two savepoints; then its rows and its state are compared.")
        _, start, end = _ends(jobs, savepoints, "replay", ("From", "To"))
        code = st.file_uploader("Changed code (the same code if none is given)", type=["py", "sql"], key="replay_code")
        keep = st.checkbox("Keep the fork, whatever comes of it", key="replay_keep")
        text, name = (code.getvalue().decode(errors="replace"), code.name) if code is not None else (None, None)
        change = RunReplay(savepoint=start, end=end, code=text, script=name, keep=keep)
        plan = _planned(change)
        if plan is not None:
            plain_facts([*(("compared", part) for part in plan.compared), *(("not compared", part) for part in plan.not_compared)])
            restore_plans.draw(plan.restore)
        ending(change, "Replay", "replay", operations.begin, ready=plan is not None and plan.restore.refusal is None)

    ask()


def _ask_bisect(jobs: Sequence[str], savepoints: Sequence[Savepoint]) -> None:
    @dialog("Find the first wrong batch", width="large")
    def ask() -> None:
        st.caption("Each row that the SQL gives is wrong. It sees the rows as of one batch; both ends are judged first.")
        job, good, bad = _ends(jobs, savepoints, "bisect", ("Right at", "Wrong at"))
        over = st.segmented_control("Judged", list(Over), default=Over.OUTPUT, format_func=str.capitalize, key="bisect_over") or Over.OUTPUT
        sql = st.text_area("SQL", key="bisect_sql", placeholder=f"SELECT * FROM {over.value} WHERE …")
        change = Bisect(job=job, good=good, bad=bad, sql=sql, over=over) if sql.strip() else None
        plan = _planned(change) if change else None
        if plan is not None:
            at_most = f"{formats.plural(plan.at_most, 'batch', 'batches')} of {plan.query}"
            plain_facts([("judges at most", at_most), ("rows", plan.ways)])
        ending(change, "Bisect", "bisect", operations.begin, ready=plan is not None)

    ask()


def _ends(jobs: Sequence[str], savepoints: Sequence[Savepoint], key: str, labels: tuple[str, str]) -> tuple[str, str, str]:
    """The job, and an earlier and a later savepoint of it."""
    job = str(st.selectbox("Job", jobs, key=f"{key}_job"))
    own = {savepoint.id: savepoint for savepoint in savepoints if savepoint.job == job}

    def told(named: str) -> str:
        savepoint = own[named]  # type: ignore[index]
        label = f" · {savepoint.label}" if savepoint.label else ""
        return f"{formats.short_id(named)} · {words.points(savepoint)}{label}"

    with st.container(horizontal=True):
        start = st.selectbox(labels[0], list(own), index=len(own) - 1, format_func=told, key=f"{key}_start_{job}")
        end = st.selectbox(labels[1], list(own), index=0, format_func=told, key=f"{key}_end_{job}")
    return job, str(start), str(end)


def _planned(change: Any) -> Any:
    """The plan, or None with its refusal shown."""
    try:
        return session.workspace().plan(change)
    except TidemarkError as error:
        error_box(error)
        return None
