"""Chips that filter a list by kind, with the number of each kind; the choice is in the address."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dashboard import session


def chips(numbers: Mapping[str, int], chosen: str, *, name: str) -> None:
    """One for each kind with its number; the first kind is all of them, and leaves `name` out of the address."""
    everything = next(iter(numbers))
    with st.container(horizontal=True, gap="small", key="states", width="content"):
        for choice, number in numbers.items():
            st.button(
                f"{choice} **{number:,}**",
                key=f"{name}_{choice.casefold().replace(' ', '_')}",
                type="primary" if choice == chosen else "secondary",
                on_click=session.select,
                kwargs={name: "" if choice == everything else choice, "page": ""},
            )
