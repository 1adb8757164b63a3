"""The discreet button beside an action that shows the same as a command and as a REST call, to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.equivalents import Equivalent


def said(title: str, words: Sequence[str], method: str, path: str, body: Mapping[str, Any] | None = None) -> Equivalent:
    """An action as `python -m pipelines <words>` and as a call of `path` below `/api/v1`."""
    call = [] if method == "GET" else ["-X", method]
    sent = ["--json", json.dumps(dict(body), ensure_ascii=False)] if body is not None else []
    return Equivalent(
        title, f"python -m pipelines {shlex.join(words)}", shlex.join(["curl", *call, *sent, f"{session.url()}/api/v1{path}"])
    )


def commands(shown: Sequence[Equivalent], *, key: str) -> None:
    """The button; it opens each action's name, command and call."""
    with st.popover("Command", icon=":material/terminal:", type="tertiary", key=key, help="The same from a shell or over REST"):
        listed(shown)


def listed(shown: Sequence[Equivalent]) -> None:
    """Each action's name, command and call."""
    for one in shown:
        st.caption(f"**{one.title}**")
        st.code(one.command, language="bash", wrap_lines=True)
        st.code(one.call, language="bash", wrap_lines=True)
