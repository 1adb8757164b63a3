"""How is everything: key figures, what needs attention, the table of jobs."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.widgets import command, empty_state, errors_shown, page_header


def page() -> None:
    """Draws the overview."""
    with errors_shown():
        _draw()


def _draw() -> None:
    jobs = session.workspace().jobs()
    with page_header("Overview"):
        pass
    if not jobs:
        _first_steps()


def _first_steps() -> None:
    says = "Tidemark watches Spark streaming jobs and keeps versions of their state. The example starts a stream of events and a job on it."
    with empty_state("No jobs yet", says, key="jobs"):
        if st.button("Start the example", type="primary", icon=":material/play_arrow:"):
            session.workspace().start_example()
            st.rerun()
        command("python -m pipelines run my_job.py --name my_job", label="or run a script of yours")
