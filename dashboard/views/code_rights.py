"""Whose rights the code has that is about to be started: said where it is started."""

from __future__ import annotations

import streamlit as st

from pipelines.storage import users
from pipelines.words import code_rights as words


def code_rights() -> None:
    """One line; this process is the one that starts it."""
    st.caption(words.line(users.name(), apart=users.other() is not None))
