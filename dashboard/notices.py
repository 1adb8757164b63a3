"""The outcome of an action: a box below the head that stays until it is closed."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import streamlit as st

from dashboard import navigation
from dashboard.widgets import error_box
from pipelines.domain.errors import TidemarkError
from pipelines.domain.savepoints import Savepoint
from pipelines.words import savepoints


@dataclass(frozen=True)
class Notice:
    """The outcome of an action on `job`: the savepoint that was taken, or the error."""

    job: str
    savepoint: Savepoint | None = None
    took_ms: float = 0
    error: TidemarkError | None = None
    title: str = "Savepoint taken"


def say(notice: Notice) -> None:
    """Shows `notice` on its job's page, in place of an earlier one."""
    st.session_state["notice"] = notice


def draw(job: str) -> None:
    """The newest notice about `job`, if there is one."""
    notice = st.session_state.get("notice")
    if not isinstance(notice, Notice) or notice.job != job:
        return
    if notice.error:
        with st.container(horizontal=True, key="notice_error"):
            error_box(notice.error)
            _put_away()
    elif notice.savepoint:
        _taken(notice, notice.savepoint)


def _taken(notice: Notice, taken: Savepoint) -> None:
    with st.container(key="notice", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(_head(notice, taken), width="stretch")
            if st.button("Fork this savepoint", icon=":material/call_split:", key="notice_fork"):
                navigation.go("fork", savepoint=taken.id)
            if st.button("Open savepoint", icon=":material/bookmark:", key="notice_open"):
                navigation.go("savepoints", savepoint=taken.id)
            _put_away()
        st.code(taken.path, language=None, wrap_lines=True)


def _head(notice: Notice, taken: Savepoint) -> str:
    line = savepoints.taken(taken, notice.took_ms)
    return (
        f'<div class="tm-notice" role="status" data-testid="taken"><strong>{escape(notice.title)}</strong>'
        f'<span class="tm-mono">{escape(taken.id)}</span><span class="tm-muted">{line}</span></div>'
    )


def _put_away() -> None:
    st.button("", icon=":material/close:", type="tertiary", key="notice_close", help="Dismiss", on_click=put_away)


def put_away() -> None:
    """Takes the notice away, of whichever job it is."""
    st.session_state.pop("notice", None)
