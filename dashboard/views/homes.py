"""Where savepoints are kept, and a dialog that tries a place out and makes it the home of new ones."""

from __future__ import annotations

import streamlit as st

from dashboard import once, permitted, session
from dashboard.components.table import Cell, Column, Row, number, table
from dashboard.dialogs import dialog
from dashboard.views.endings import ending
from dashboard.widgets import errors_shown, message_box, plain_facts, section
from pipelines.domain.access import Role
from pipelines.domain.homes import USUAL, WORKSPACE, HomeCheck, Homes, is_untried
from pipelines.domain.ids import JobName
from pipelines.verbs.homes import CheckHome, ListHomes, SetHome
from pipelines.verbs.jobs import ListJobs
from pipelines.words import formats
from pipelines.words import homes as words

USED = (
    Column("Place", wide=True),
    Column("Jobs", wide=True),
    Column("Savepoints", "right"),
    Column("Bytes", "right"),
    Column("From now on", wide=True),
)
EVERY_JOB = "every other job"
JOBS_LABEL = "New jobs begin there, too"
JOBS_HELP = "A job that begins there has its checkpoint and its output in a folder of its own. Those that have begun stay where they are."
HOMES_AGE_MS = 10_000
SAYS = (
    "A savepoint beside the job's state is copied by the storage itself. Savepoints that are there already stay where they are, and those "
    "that Tidemark takes for its own work (before a resume, an upgrade, a promotion) are kept in the workspace."
)

HOME_HELP = (
    "Where the job's checkpoint, output and savepoints lie: s3://bucket/folder, hdfs://host:8020/folder, or a folder of another disk. For "
    "S3 its Spark needs hadoop-aws; endpoints and credentials are those of the server's environment."
)

UNTESTED_HELP = "Tidemark's tests know such a storage from an emulator at most. Try it out first."


def homes() -> None:
    """Draws the section of Settings."""
    with errors_shown():
        shown = session.workspace().ask(ListHomes())
        section("Homes", "where savepoints are kept, and new jobs begin")
        table(USED, _rows(shown), key="homes", label="Homes", clickable=False)
        if permitted.button("Set home…", Role.ADMIN, icon=":material/home_storage:", key="set_home"):
            _ask(shown)


def of_new_jobs() -> str:
    """Where a job begins that says nothing of a home: `workspace`, or a URL."""
    return session.shared(ListHomes(), age_ms=HOMES_AGE_MS).of_new_jobs


def field(shown: str, key: str) -> str:
    """The field of a form that says where a job is to lie."""
    return (st.text_input("Home", shown, key=key, placeholder=words.place(of_new_jobs()), help=HOME_HELP) or "").strip()


def _rows(shown: Homes) -> list[Row]:
    used = {entry.home: entry for entry in shown.used}
    places = dict.fromkeys([WORKSPACE, shown.usual, shown.of_new_jobs, *shown.of_jobs.values(), *used])
    rows = []
    for place in places:
        jobs = [*([EVERY_JOB] if place == shown.usual else []), *(job for job, home in shown.of_jobs.items() if home == place)]
        new = [*([words.NEW_JOBS] if place == shown.of_new_jobs else []), *([f"savepoints of {', '.join(jobs)}"] if jobs else [])]
        held = used.get(place)
        cells = (
            Cell(words.place(place), mono=place != WORKSPACE),
            Cell(", ".join(held.jobs) if held else formats.MISSING),
            number(held.savepoints if held else 0, formats.count),
            number(held.bytes if held else 0, formats.size),
            Cell(", ".join(new) or formats.MISSING, muted=not new),
        )
        rows.append(Row(place, cells))
    return rows


def _ask(shown: Homes) -> None:
    @dialog("Set home")
    def ask() -> None:
        with errors_shown():
            jobs = [summary.job.name for summary in session.workspace().ask(ListJobs())]
            job = st.selectbox("Of", ["", *jobs], format_func=lambda job: job or EVERY_JOB, key="home_job") or ""
            now = shown.of_jobs.get(JobName(job), USUAL) if job else shown.usual
            others = f"'{WORKSPACE}' keeps them in the workspace{f', {USUAL!r} where the other jobs have theirs' if job else ''}."
            home = st.text_input(
                "Folder",
                key="home_url",
                placeholder="s3://bucket/folder, hdfs://host:8020/folder, or a path outside of the workspace",
                help=f"Now: {words.place(now)}. {others}",
            ).strip()
            st.caption(SAYS)
            label = "Although no test of Tidemark ran there"
            accepted = is_untried(home) and st.checkbox(label, key="home_untested", help=UNTESTED_HELP)
            with_jobs = not job and st.checkbox(JOBS_LABEL, key="home_jobs", help=JOBS_HELP)
            if st.button("Try it out", icon=":material/fact_check:", key="home_check", disabled=home in ("", WORKSPACE, USUAL)):
                with st.spinner(f"Writing to {home} …", show_time=True):
                    _tried(once.do(CheckHome(home)))
            ending(SetHome(home, job, with_jobs, accepted) if home else None, "Set home", "home")

    ask()


def _tried(check: HomeCheck) -> None:
    if check.failed:
        message_box(words.verdict(check), f"{check.failed.step.value} {words.step(check.failed)}")
    else:
        st.success(words.verdict(check), icon=":material/check:")
    plain_facts([(tried.step.value, words.step(tried)) for tried in check.steps])
