"""Comparisons as a page keeps them: one reads both outputs, so it is made anew only now and then."""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st

from dashboard import session
from dashboard.views.experiments.sentence import Outcome
from pipelines.domain.errors import TidemarkError
from pipelines.verbs.experiments import Compare

OFTEN_MS = 4_000
SHARE_OF_TIME = 10
"""A comparison may take at most a tenth of the time."""
KEPT = 12
"""Comparisons that a browser's session keeps."""


@dataclass(frozen=True)
class Compared:
    """A comparison, or its refusal, as of `at_ms`."""

    asked: Compare
    outcome: Outcome
    at_ms: float
    took_ms: float


def is_known(asked: Compare) -> bool:
    """Whether there is a comparison of these two already, young or old."""
    return asked in st.session_state.get("compared", {})


def compared(asked: Compare, often_ms: float = OFTEN_MS) -> Compared:
    """The last comparison while it is young, else a new one."""
    kept: dict[Compare, Compared] = st.session_state.setdefault("compared", {})
    last, now = kept.get(asked), session.now_ms()
    if last and now - last.at_ms < max(often_ms, SHARE_OF_TIME * last.took_ms):
        return last
    began = time.perf_counter()
    try:
        outcome: Outcome = session.workspace().ask(asked)
    except TidemarkError as error:
        outcome = error
    made = Compared(asked, outcome, session.now_ms(), (time.perf_counter() - began) * 1_000)
    kept.pop(asked, None)
    kept[asked] = made
    while len(kept) > KEPT:
        del kept[next(iter(kept))]
    return made
