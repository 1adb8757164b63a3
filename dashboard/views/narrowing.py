"""What a list of what happened is narrowed by besides the bar above it, behind one button: a stretch of time, and a few texts. And the
order of such a list, which its table's head chooses. All of it is in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from dashboard import address, session
from dashboard.paging import Cut, Key, Order, arranged, cut, read_order
from dashboard.views import ranges
from pipelines.words import formats

T = TypeVar("T")
TIMES = ("When", "Time")
"""Columns by whose order the workspace lists: not only what was read of a list is in it."""
ADDRESS = {"from": address.MOMENT, "to": address.MOMENT}


@dataclass(frozen=True)
class Text:
    """A box for a text; its name in the address is its key."""

    label: str
    placeholder: str
    help: str


def more(texts: Mapping[str, Text], *, key: str) -> dict[str, str]:
    """Draws the button with the boxes, and answers with what stands in each; the button counts those that are filled."""
    filled = sum(bool(session.selected(name)) for name in texts) + (ranges.ends() != (None, None))
    label = f"Filters ({filled})" if filled else "Filters"
    with st.popover(label, icon=":material/tune:", key=key):
        typed = {name: _text(name, text) for name, text in texts.items()}
        st.html('<p class="tm-field">Range of time</p>')
        ranges.field()
        ranges.refused()
        if ranges.ends() != (None, None):
            st.caption(ranges.said(*ranges.ends(), session.zone()))
            st.button("Any time", key=f"{key}_any_time", icon=":material/close:", type="tertiary", on_click=ranges.choose, args=(None,))
    return typed


def _text(name: str, text: Text) -> str:
    given = st.text_input(text.label, key=name, placeholder=text.placeholder, help=text.help, bind="query-params", on_change=begin_anew)
    return (given or "").strip()


def begin_anew() -> None:
    """Another filter begins at the first page of the first list."""
    session.select(page="", before="")


def order(columns: Mapping[str, object]) -> Order | None:
    """The order that the address names; the newest first where it names none of these columns."""
    return read_order(session.selected("sort"), columns)


def sort(chosen: Order | None, times: Sequence[str] = TIMES) -> str:
    """The same for the workspace, which orders by time alone: what is ordered by another column is the newest."""
    return "at_ms" if chosen is not None and chosen.column in times and not chosen.down else ""


def page(items: Sequence[T], keys: Mapping[str, Key[T]], chosen: Order | None, times: Sequence[str] = TIMES) -> Cut[T]:
    """The page of a list that the address names, the list in its order: the workspace's, or that of another column."""
    whole = items if chosen is None or chosen.column in times else arranged(items, keys, chosen)
    return cut(whole, session.selected("page"), chosen)


def turn(times_ms: Sequence[float], further: str, sort: str, *, key: str) -> None:
    """The way to what comes after these, and back; nothing where these are all. `further` is the place of the last one, empty where no
    more can come."""
    before = session.selected("before")
    if not further and not before:
        return
    first, next_ = ("Oldest", "Newer") if sort else ("Newest", "Older")
    which = f"{formats.exact(min(times_ms), session.zone())} to {formats.exact(max(times_ms), session.zone())}" if times_ms else ""
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="small", key=f"{key}_further"):
        st.html(f'<div class="tm-stamp">{which}</div>', width="content")
        st.button(first, key=f"{key}_first", disabled=not before, on_click=session.select, kwargs={"before": "", "page": ""})
        st.button(next_, key=f"{key}_next", disabled=not further, on_click=session.select, kwargs={"before": further, "page": ""})
