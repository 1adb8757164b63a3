"""The discreet button beside an action that shows the same as a command and as a REST call, to copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import session
from pipelines.verbs.declaration import summary
from pipelines.verbs.shell import TOKEN_FIRST, as_call, as_command
from pipelines.verbs.verb import Asked

Shown = Asked[Any] | tuple[str, Asked[Any]]
"""A question or change, with a title where its own words would not do on that page."""


def commands(shown: Sequence[Shown], *, key: str) -> None:
    """The button; it opens each action's name, command and call."""
    with st.popover("Command", icon=":material/terminal:", type="tertiary", key=key, help="The same from a shell or over REST"):
        listed(shown)


def folded(shown: Sequence[Shown]) -> None:
    """The same as a part of a dialog that opens."""
    with st.expander("Command", icon=":material/terminal:"):
        listed(shown)


def listed(shown: Sequence[Shown]) -> None:
    """Each action's name, command and call."""
    for title, asked in map(_titled, shown):
        st.caption(f"**{title}**")
        if command := as_command(asked):
            st.code(command, language="bash", wrap_lines=True)
        st.code(as_call(asked, session.url()), language="bash", wrap_lines=True)
    st.caption(f"A call shows a token: `{TOKEN_FIRST}`")


def _titled(shown: Shown) -> tuple[str, Asked[Any]]:
    return shown if isinstance(shown, tuple) else (summary(type(shown)), shown)
