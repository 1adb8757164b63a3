"""The page scripts' hold on the server: the open workspace, the moment, the browser's time zone, what the address selects.

A page script runs anew on every rerun, in a thread of its own; the workspace is one for the whole process. The server puts it
into this module when it starts. The page scripts themselves live elsewhere, so that a reload of one never empties it.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from pipelines.domain.errors import Unavailable
from pipelines.domain.space import Space
from pipelines.workspace.face import Face

SPACE_AGE_MS = 15_000
_workspace: Face | None = None
_space: tuple[frozenset[str], float, Space] | None = None
_measuring = threading.Lock()


def open_with(workspace: Face | None) -> None:
    """Gives the pages `workspace`; None takes it away (the server stops)."""
    global _workspace, _space
    _workspace, _space = workspace, None


def is_open() -> bool:
    """Whether a workspace is there."""
    return _workspace is not None


def workspace() -> Face:
    """The open workspace; Unavailable while the server starts or stops."""
    if _workspace is None:
        raise Unavailable("server.starting", "The workspace is not open yet.", "Wait a moment and reload the page.")
    return _workspace


def space() -> Space:
    """What the savepoints take on disk, as of the last seconds: every file is looked at for it, so all browsers share one answer.
    Asked anew where a savepoint came or went."""
    global _space
    known = frozenset(one.id for one in workspace().savepoints())
    with _measuring:
        if _space is None or _space[0] != known or now_ms() - _space[1] > SPACE_AGE_MS:
            _space = (known, now_ms(), workspace().space())
        return _space[2]


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
