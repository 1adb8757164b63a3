"""Changes that a page begins: one click begins one change.

A click that comes while the page still runs (a double click, a second one on a slow machine) reaches the server after the first was
answered, and before anybody can have seen that. It asks for the same once more, and gets the first one's answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

import streamlit as st

from dashboard import session
from pipelines.verbs.verb import Begun, Change

A = TypeVar("A")
SAME_CLICK_MS = 1_000
"""After a change was answered; nobody sees what came of it and asks for the same sooner."""
_RECENT = "begun_recently"


@dataclass(frozen=True)
class _Recent:
    """A change that this session began, and when it was answered, or its operation had begun (epoch ms)."""

    begun: Begun[Any]
    at_ms: float


def begin(change: Change[A, Any]) -> Begun[A]:
    """Begins `change`; what the same click has begun already is not begun again. Raises what refuses it."""
    before = next((recent.begun for recent in _recent() if recent.begun.change == change), None)
    if before is not None:
        return cast("Begun[A]", before)
    begun = session.workspace().begin(change)
    _remember(begun)
    return begun


def do(change: Change[A, Any]) -> A:
    """Begins `change` and waits for its answer. Raises what refuses it, and what it failed with."""
    begun = begin(change)
    try:
        return session.workspace().answer(begun)
    finally:
        _remember(begun)


def forget() -> None:
    """What follows is another click: an undo begins what was there before, and that may be what was begun just now."""
    st.session_state.pop(_RECENT, None)


def _recent() -> tuple[_Recent, ...]:
    kept: tuple[_Recent, ...] = st.session_state.get(_RECENT, ())
    return tuple(recent for recent in kept if session.now_ms() - recent.at_ms < SAME_CLICK_MS)


def _remember(begun: Begun[Any]) -> None:
    others = (recent for recent in _recent() if recent.begun.change != begun.change)
    st.session_state[_RECENT] = (*others, _Recent(begun, session.now_ms()))
