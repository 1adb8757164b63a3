"""All experiments, and any two jobs to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard import navigation, session
from dashboard.components.table import Cell, Column, Row, moment, shortened, table
from dashboard.widgets import STATES, Tone, command, empty_state, section
from pipelines.domain.experiments import Experiment
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState
from pipelines.verbs.jobs import ListJobs

TEACHES = (
    "An experiment runs several forks of one savepoint side by side, over the very same events and from the very same state: "
    "what differs in their outputs comes from what differs in their code."
)
COLUMNS = (Column("Experiment"), Column("Jobs", wide=True), Column("State"), Column("Savepoint"), Column("Began"))


def draw(experiments: Sequence[Experiment]) -> None:
    """The table of experiments, or an explanation where there is none; below it the choice of two jobs."""
    jobs = session.workspace().ask(ListJobs())
    if experiments:
        _table(experiments, {summary.job.name: summary for summary in jobs})
    else:
        _teach()
    names = [summary.job.name for summary in jobs if summary.batch is not None]
    if len(names) > 1:
        _any_two(names)


def _teach() -> None:
    with empty_state("No experiments yet", TEACHES, key="experiments"):
        if st.button("Choose a savepoint", type="primary", icon=":material/bookmarks:"):
            navigation.go("savepoints")
        command("python -m pipelines experiment SAVEPOINT --name NAME --variant a= --variant b=changed.py", label="or from a shell")


def _table(experiments: Sequence[Experiment], jobs: Mapping[str, JobSummary]) -> None:
    now = session.now_ms()
    rows = [_row(experiment, jobs, now) for experiment in sorted(experiments, key=lambda experiment: -experiment.created_ms)]
    opened = table(COLUMNS, rows, key="experiments", label="Experiments", max_height=420)
    if opened:
        session.select(experiment=opened)
        st.rerun()


def _row(experiment: Experiment, jobs: Mapping[str, JobSummary], now_ms: float) -> Row:
    states = [jobs[name].state if name in jobs else None for name in experiment.jobs]
    text, tone = _state(states)
    cells = (
        Cell(experiment.name, strong=True),
        Cell("  ·  ".join(f"{letter} {name}" for letter, name in zip("ABCDEFG", experiment.jobs, strict=False))),
        Cell(text, tone=tone, live=RunState.RUNNING in states),
        shortened(experiment.savepoint),
        moment(experiment.created_ms, now_ms),
    )
    return Row(experiment.id, cells, navigation.href("experiments", experiment=experiment.id))


def _state(states: Sequence[RunState | None]) -> tuple[str, Tone]:
    """The worst of its jobs' states, and how many of them are live."""
    if any(state is not None and state.has_failed for state in states):
        return STATES[RunState.FAILED]
    live = sum(state is not None and state.live for state in states)
    return (f"{live} of {len(states)} running", "green") if live else ("Ended", "gray")


def _any_two(names: Sequence[str]) -> None:
    with st.container(border=True, key="card_any_two"):
        section("Compare any two jobs", "their outputs row for row, their metrics over event time")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            a = st.selectbox("A", names, key="any_a", width=320)
            b = st.selectbox("B", [name for name in names if name != a], key="any_b", width=320)
            if st.button("Compare", type="primary", icon=":material/compare:", key="any_compare"):
                session.select(a=str(a), b=str(b))
                st.rerun()
