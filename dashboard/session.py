"""The page scripts' hold on the server: the open workspace, the moment, the browser's time zone, what the address selects.

A page script runs anew on every rerun, in a thread of its own; the workspace is one for the whole process. The server puts it
into this module when it starts. The page scripts themselves live elsewhere, so that a reload of one never empties it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, tzinfo
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard.answers import Answers
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import SavepointId
from pipelines.domain.space import SavepointSpace, Space
from pipelines.workspace.face import Face

SPACE_AGE_MS = 15_000
SPACE_WAIT_S = 0.4
"""Longer than almost all workspaces need, shorter than what looks like a stop."""
SHARED_AGE_MS = 1_000
T = TypeVar("T")
_BEGAN = "page_began_ms"
_workspace: Face | None = None
_answers = Answers()


def open_with(workspace: Face | None) -> None:
    """Gives the pages `workspace`; None takes it away (the server stops)."""
    global _workspace, _answers
    _workspace, _answers = workspace, Answers()


def is_open() -> bool:
    """Whether a workspace is there."""
    return _workspace is not None


def workspace() -> Face:
    """The open workspace; Unavailable while the server starts or stops."""
    if _workspace is None:
        raise Unavailable("server.starting", "The workspace is not open yet.", "Wait a moment and reload the page.")
    return _workspace


def space() -> Space | None:
    """What the savepoints take on disk, as of the last seconds; None while that is measured: every file is looked at for it, so all
    browsers share one answer, and none waits for long. Asked anew where a savepoint came or went."""
    known = frozenset(one.id for one in shared("savepoints", workspace().savepoints))
    return _answers.soon(("space", known), workspace().space, now_ms(), SPACE_AGE_MS, SPACE_WAIT_S)


def spaces() -> Mapping[SavepointId, SavepointSpace]:
    """What each of the savepoints takes; empty while that is measured."""
    found = space()
    return {one.savepoint: one for one in found.savepoints} if found else {}


def shared(name: str, ask: Callable[[], T], *about: Hashable, age_ms: float = 0) -> T:
    """What `ask` answers of `about`: to a page that refreshes itself as of the last second, so that all browsers share one answer;
    to one that somebody opened, or did something on, not from before that. With `age_ms` that old answers do for everybody."""
    now = now_ms()
    fresh = SHARED_AGE_MS if refreshing() else now - st.session_state.get(_BEGAN, now)
    return _answers.given((name, *about), ask, now, max(fresh, age_ms))


def page_begins() -> None:
    """A whole run of the page begins: what it asks for is answered as of now."""
    st.session_state[_BEGAN] = now_ms()


def refreshing() -> bool:
    """Whether this run is one of a part that refreshes itself."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def now_ms() -> float:
    """The moment in epoch ms; pages pass it on, so that everything on a page is as of one moment."""
    return time.time() * 1_000


def zone() -> tzinfo:
    """The browser's time zone, UTC where it is not known."""
    name = st.context.timezone
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def selected(name: str, default: str = "") -> str:
    """What the address selects (`?job=…`), so that a pasted link shows the same."""
    return str(st.query_params.get(name, default))


def select(**values: str) -> None:
    """Puts a selection into the address; an empty value leaves it."""
    for name, value in values.items():
        if value:
            st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]


def url() -> str:
    """Where this server answers, as the browser sees it."""
    from urllib.parse import urlsplit

    parts = urlsplit(st.context.url or "http://127.0.0.1:8501")
    return f"{parts.scheme}://{parts.netloc}"
