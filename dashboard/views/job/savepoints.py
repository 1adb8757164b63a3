"""A job's savepoints and the batches that Spark still keeps, as a film strip and a table: savepoints and forks can begin at any."""

from __future__ import annotations

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.views import schedules
from dashboard.views.job import actions, points
from dashboard.views.savepoints.table import savepoint_table
from dashboard.widgets import command, empty_state, errors_shown, section
from pipelines.domain.access import Role
from pipelines.domain.jobs import JobDetail
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.savepoints import ListSavepoints


def draw(name: str, detail: JobDetail, now: float) -> None:
    """The strip, the batch chosen on it, the table."""
    taken = session.workspace().ask(ListSavepoints(name))
    with errors_shown():
        points.draw(name, detail, session.workspace().ask(ListRetained(name)), taken)
    with errors_shown():
        schedules.draw(name, now)
    if taken:
        section("Savepoints", f"{len(taken):,}, newest first")
        opened = savepoint_table(taken, session.spaces(), now, key="job_savepoints", label="Savepoints of this job")
        if opened:
            navigation.go("savepoints", savepoint=opened)
    else:
        _none(name)


def _none(name: str) -> None:
    says = "A savepoint holds the job's state at one batch, for good: to go back to, or to fork from. The job does not notice."
    with empty_state("No savepoints yet", says, key="savepoints"):
        if permitted.button("Take a savepoint", Role.OPERATOR, type="primary", icon=":material/bookmark_add:", key="take_first"):
            actions.take(name)
            st.rerun()
        command(f"python -m pipelines savepoint {name}")
