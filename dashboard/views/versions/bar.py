"""The filter of the tree of versions: chips and words to choose families, and the pager. All are in the address."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import session
from dashboard.drawing.families import CHOICES, Family, Page, fitting
from dashboard.views import choices
from pipelines.words import formats

ALL = next(iter(CHOICES))


def choose(every: Sequence[Family], now: float) -> list[Family]:
    """Draws the bar over the tree, and returns the families that it lets through."""
    choice = session.selected("show", ALL)
    choice = choice if choice in CHOICES else ALL
    with st.container(horizontal=True, vertical_alignment="center", key="versions_bar"):
        choices.chips({name: sum(map(fits, every)) for name, fits in CHOICES.items()}, choice, name="show")
        if session.selected("whole"):
            st.button(
                "Fold ended jobs", type="tertiary", icon=":material/unfold_less:", key="fold", on_click=session.select, kwargs={"whole": ""}
            )
        st.html(f'<div class="tm-stamp">updated {formats.clock(now, session.zone())}</div>', width="stretch")
        words = st.text_input(
            "Filter versions", key="filter", bind="query-params", placeholder="Job, version, savepoint …", icon=":material/search:",
            type="search", live=True, label_visibility="collapsed", width=240, on_change=session.select, kwargs={"page": ""},
        )  # fmt: skip
    return fitting(every, choice, words or "")


def pager(page: Page) -> None:
    """The numbers of the families shown, and the way to other pages; nothing where there is one page."""
    if page.pages < 2:
        return
    last = page.first + len(page.families)
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="small", key="tree_pager"):
        place = f"{page.first + 1:,}–{last:,} of {formats.plural(page.total, 'family', 'families')}"
        st.html(f'<div class="tm-stamp">{place}</div>', width="content")
        for sign, title, number in (("‹", "Previous page", page.number - 1), ("›", "Next page", page.number + 1)):
            st.button(
                sign,
                key=f"tree_{title.split()[0].casefold()}",
                help=title,
                disabled=not 1 <= number <= page.pages,
                on_click=session.select,
                kwargs={"page": str(number)},
            )
