"""Spark's event log of runs: the box that has it kept; the button that opens one in Spark's history server, and where it is then."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import streamlit as st

from dashboard import permitted
from dashboard.views import changes
from dashboard.widgets import error_box
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.event_logs import ENABLED, MOST_BYTES, RUNS_KEPT
from pipelines.verbs.history import HistoryPlace, OpenHistory
from pipelines.words import formats

COSTS = (
    f"At most {formats.size(MOST_BYTES)} a run, in its folder; a job's newest {RUNS_KEPT} runs keep theirs. "
    f"Spark history, among the job's logs, shows it. It is the conf {ENABLED}."
)
SAYS = "Jobs, stages, tasks and queries of this run, as Spark's own UI shows them while it runs"
HERE = "It answers on the server's machine alone, for a quarter of an hour after the last look; from another one: `{}`"


def box(is_kept: bool, key: str) -> bool:
    """Whether the runs of a job keep theirs."""
    return st.checkbox("Keep Spark's event log", is_kept, key=key, help=COSTS)


def button(job: str, run: str) -> None:
    """Begins to open it; where the run keeps none, that is said with what to do."""
    options = {"key": "history", "icon": ":material/history:", "type": "tertiary", "help": SAYS, "disabled": changes.is_asked(_key(job))}
    if permitted.button("Spark history", Role.OPERATOR, **options):
        _put(job, None)
        _take(job, lambda: changes.ask(_key(job), OpenHistory(job, run), f"The event log of {job} is open: see its logs"))


def draw(job: str) -> None:
    """Where it is, once it is there; the error where it could not be opened."""
    if changes.is_asked(_key(job)):
        _take(job, lambda: changes.answered(_key(job)))
    place = st.session_state.get(_place(job))
    if isinstance(place, TidemarkError):
        error_box(place)
    elif isinstance(place, HistoryPlace):
        with st.container(horizontal=True, vertical_alignment="center", key="history_place"):
            st.link_button(f"Open {place.application} in Spark's history server", place.url, icon=":material/open_in_new:")
            st.caption(HERE.format(place.tunnel))


def _take(job: str, answer: Callable[[], object]) -> None:
    try:
        _put(job, cast("HistoryPlace | None", answer()))
    except TidemarkError as error:
        _put(job, error)


def _put(job: str, place: HistoryPlace | TidemarkError | None) -> None:
    if place is None:
        st.session_state.pop(_place(job), None)
    else:
        st.session_state[_place(job)] = place


def _key(job: str) -> str:
    return f"history_{job}"


def _place(job: str) -> str:
    return f"history_place_{job}"
