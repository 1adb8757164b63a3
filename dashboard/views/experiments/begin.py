"""What begins a replay or a bisection: each a dialog that asks for two savepoints of one job, shows the plan, and begins it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import permitted, session
from dashboard.dialogs import dialog
from dashboard.views import operations, restore_plans
from dashboard.views.endings import ending, planned
from dashboard.widgets import plain_facts
from pipelines.domain.access import Role
from pipelines.domain.bisections import Over
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.bisect import Bisect
from pipelines.verbs.replay import RunReplay
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.state import ListStates
from pipelines.words import formats
from pipelines.words import savepoints as words

KINDS = ("replay", "bisect")
"""Kinds of operations that are begun here."""
JUDGES = ("SQL", "Script")
SCRIPT = """import glob, sys, pandas
files = glob.glob(sys.argv[-1] + "/{over}/**/*.parquet", recursive=True)
rows = pandas.concat(map(pandas.read_parquet, files))
sys.exit(int((rows.views < 0).any()))"""
JUDGE_HELP = (
    "Python. Its last argument is a folder with the data files as of one batch; TIDEMARK_BATCH and TIDEMARK_QUERY name the batch and its "
    "query. Exit code 0: right, 125: cannot say, 1 to 127: wrong."
)


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
        _, start, end = _ends(jobs, savepoints, "replay", ("From", "To"), nearest=True)
        code = st.file_uploader("Changed code (the same code if none is given)", type=["py", "sql"], key="replay_code")
        keep = st.checkbox("Keep the fork, whatever comes of it", key="replay_keep")
        text, name = (code.getvalue().decode(errors="replace"), code.name) if code is not None else (None, None)
        change = RunReplay(savepoint=start, end=end, code=text, script=name, keep=keep)
        plan = planned(change)
        if plan is not None:
            plain_facts([*(("compared", part) for part in plan.compared), *(("not compared", part) for part in plan.not_compared)])
            restore_plans.draw(plan.restore)
        ending(change, "Replay", "replay", operations.begin, ready=plan is not None and plan.restore.refusal is None)

    ask()


def _ask_bisect(jobs: Sequence[str], savepoints: Sequence[Savepoint]) -> None:
    @dialog("Find the first wrong batch", width="large")
    def ask() -> None:
        st.caption("The rows as of one batch are judged, both ends first: by SQL, of which each row is wrong, or by a script's exit code.")
        job, good, bad = _ends(jobs, savepoints, "bisect", ("Right at", "Wrong at"), nearest=False)
        with st.container(horizontal=True):
            picked = st.segmented_control("Judged", list(Over), default=Over.OUTPUT, format_func=str.capitalize, key="bisect_over")
            by = st.segmented_control("By", JUDGES, default=JUDGES[0], key="bisect_by") or JUDGES[0]
        over = picked or Over.OUTPUT
        named = _table(bad) if over is Over.STATE else _query(next(saved for saved in savepoints if saved.id == bad))
        judge = _judge(by, over)
        change = Bisect(job=job, good=good, bad=bad, over=over, **judge, **named) if any(judge.values()) else None
        plan = planned(change) if change else None
        if plan is not None:
            at_most = f"{formats.plural(plan.at_most, 'batch', 'batches')} of {plan.query}"
            plain_facts([("judges at most", at_most), ("rows", plan.ways)])
        ending(change, "Bisect", "bisect", operations.begin, ready=plan is not None)

    ask()


def _judge(by: str, over: Over) -> dict[str, Any]:
    """The SQL or the script, as the verb has them; empty as long as nothing was typed."""
    if by == JUDGES[0]:
        sql = st.text_area("SQL", key="bisect_sql", placeholder=f"SELECT * FROM {over.value} WHERE …")
        return {"sql": sql if sql.strip() else ""}
    script = st.text_area("Script", key="bisect_script", height=200, placeholder=SCRIPT.format(over=over.value), help=JUDGE_HELP)
    return {"script": script if script.strip() else ""}


def _query(bad: Savepoint) -> dict[str, Any]:
    """The query whose output is judged, where there are several; else the first that can be."""
    queries = [image.query for image in bad.queries]
    if len(queries) < 2:
        return {}
    picked = st.selectbox("Query", queries, index=None, placeholder="The first that can be judged", key=f"bisect_query_{bad.id}")
    return {"query": str(picked)} if picked else {}


def _table(bad: str) -> dict[str, Any]:
    """The table of state that is judged, where there are several."""
    tables = [table for table in session.workspace().ask(ListStates(bad)) if not table.internal]
    if len(tables) < 2:
        return {}
    at = st.selectbox("State", range(len(tables)), format_func=lambda at: tables[at].title, key=f"bisect_table_{bad}")
    return tables[at].names


def _ends(
    jobs: Sequence[str], savepoints: Sequence[Savepoint], key: str, labels: tuple[str, str], *, nearest: bool
) -> tuple[str, str, str]:
    """The job, and an earlier and a later savepoint of it: to begin with the newest, and the one before it where the `nearest` is most
    likely to have all its batches still, else the oldest."""
    job = str(st.selectbox("Job", jobs, key=f"{key}_job"))
    own = {savepoint.id: savepoint for savepoint in savepoints if savepoint.job == job}

    def told(named: str) -> str:
        savepoint = own[named]  # type: ignore[index]
        label = f" · {savepoint.label}" if savepoint.label else ""
        return f"{formats.short_id(named)} · {words.points(savepoint)}{label}"

    left, right = st.columns(2, gap="small")
    start = left.selectbox(labels[0], list(own), index=1 if nearest else len(own) - 1, format_func=told, key=f"{key}_start_{job}")
    end = right.selectbox(labels[1], list(own), index=0, format_func=told, key=f"{key}_end_{job}")
    return job, str(start), str(end)
