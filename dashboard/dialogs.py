"""Dialogs that the page knows of: while one is open nothing draws the whole page anew, which would close it over what is typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

_OPEN = "dialog_open"


def page_begins() -> None:
    """A whole run of the page closes every dialog that it does not open again."""
    st.session_state[_OPEN] = False


def is_open() -> bool:
    """Whether a dialog is open."""
    return bool(st.session_state.get(_OPEN, False))


def dialog(title: str, *, width: Literal["small", "medium", "large"] = "small") -> Callable[[Callable[[], None]], Callable[[], None]]:
    """`st.dialog` that is remembered while it is open; the page is drawn again when it is closed."""

    def opening(draw: Callable[[], None]) -> Callable[[], None]:
        shown: Any = st.dialog(title, width=width, on_dismiss=page_begins)(draw)

        def ask() -> None:
            st.session_state[_OPEN] = True
            shown()

        return ask

    return opening


def redraw() -> None:
    """Draws the whole page anew from a part of it that refreshes itself, unless a dialog is open."""
    if not is_open():
        st.rerun()


def answer(action: str, key: str, *, icon: str = "", disabled: bool = False, help: str | None = None, danger: bool = False) -> bool:
    """The two buttons at the end of every dialog, in one place: Cancel closes it, `action` is returned as pressed. `danger` marks what
    cannot be undone."""
    with st.container(horizontal=True, horizontal_alignment="right", key=f"{'danger' if danger else 'answer'}_{key}"):
        if st.button("Cancel", key=f"{key}_no"):
            st.rerun()
        return st.button(action, type="primary", icon=icon or None, key=f"{key}_yes", disabled=disabled, help=help)
