"""One notice at the foot of every page: what was just done, with the button that takes it back.

It is of one browser's session, stays over reruns and from page to page (unless it is about what was typed on one page), and goes after
twenty seconds, when it is put away, or when another one takes its place. What could not be taken back stays until it is put away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import streamlit as st

from dashboard import once, session
from dashboard.widgets import chip
from pipelines.domain.errors import TidemarkError

OFFERED_MS = 20_000
SAID_MS = 6_000
"""How long it is said that something was taken back."""
_NOTICE, _TAKEN_BACK, _PAGE = "undo_notice", "undo_taken_back", "undo_page"
Undo = Callable[[], str]
"""Takes back what was done; answers with how things stand now, and raises TidemarkError where it cannot."""


@dataclass(frozen=True)
class Notice:
    """A notice with the button that undoes; shown until `until_ms` (epoch ms; None: until it is closed)."""

    words: str
    until_ms: float | None
    undo: Undo | None = None
    action: str = "Undo"
    refusal: TidemarkError | None = None
    page: str = ""
    """The page with which it ends; empty for one that goes along."""


def page_begins(page: str) -> None:
    """Puts away a notice of another page that ends with it."""
    st.session_state[_PAGE] = page
    notice = st.session_state.get(_NOTICE)
    if isinstance(notice, Notice) and notice.page not in ("", page):
        put_away()


def offer(words: str, undo: Undo, *, action: str = "Undo", here: bool = False) -> None:
    """Says what was done, with a button that takes it back; `here`: only on this page, because only this page holds what was typed.

    >>> offer("Label of sp-1a2b3c4d changed", put_back)
    """
    page = st.session_state.get(_PAGE, "") if here else ""
    _say(Notice(words, session.now_ms() + OFFERED_MS, undo, action, page=page))


def say(words: str) -> None:
    """Shows what was done, where it cannot be undone."""
    _say(Notice(words, session.now_ms() + OFFERED_MS))


def refuse(error: TidemarkError) -> None:
    """Shows an error until it is closed."""
    _say(Notice(error.message, None, refusal=error))


def put_away() -> None:
    """Takes the notice away."""
    st.session_state.pop(_NOTICE, None)


def _say(notice: Notice) -> None:
    st.session_state[_NOTICE] = notice


def draw() -> None:
    """The notice, if there is one. It is drawn by the frame of every page; after an undo the whole page is drawn again."""
    if st.session_state.pop(_TAKEN_BACK, False) and session.refreshing():
        st.rerun()
    notice = st.session_state.get(_NOTICE)
    if not isinstance(notice, Notice) or _over(notice):
        put_away()
        return
    with st.container(horizontal=True, vertical_alignment="center", wrap=False, gap="small", key="undo_notice"):
        st.html(_html(notice), width="stretch")
        if notice.undo:
            st.button(notice.action, icon=_icon(notice), key="undo", on_click=_clicked, args=(notice.undo,))
        st.button("", icon=":material/close:", type="tertiary", key="undo_away", help="Dismiss", on_click=put_away)


def _clicked(undo: Undo) -> None:
    """As a callback, so that a click in the last moment counts, too."""
    take_back(undo)
    st.session_state[_TAKEN_BACK] = True


def _over(notice: Notice) -> bool:
    return notice.until_ms is not None and session.now_ms() > notice.until_ms


def _icon(notice: Notice) -> str:
    return ":material/undo:" if notice.action == "Undo" else ":material/play_arrow:"


def take_back(undo: Undo) -> None:
    """Runs `undo` and shows its outcome."""
    once.forget()
    try:
        _say(Notice(undo(), session.now_ms() + SAID_MS))
    except TidemarkError as error:
        refuse(error)


def _html(notice: Notice) -> str:
    error = notice.refusal
    if error is None:
        return f'<div class="tm-undo" role="status" data-testid="undo">{escape(notice.words)}</div>'
    hint = f"<p>{escape(error.hint)}</p>" if error.hint else ""
    return f'<div class="tm-undo" role="alert" data-testid="undo">{escape(error.message)} {chip(error.code, "red", mono=True)}{hint}</div>'
