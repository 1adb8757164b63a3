"""Who looks: his name, his role and the way out, in the top bar."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from dashboard import session
from dashboard.oidc.places import OUT
from pipelines.domain.access import Caller
from pipelines.domain.errors import TidemarkError

_MARKDOWN = re.compile(r"[^\w\s]|_")
"""What a label could take for markdown: a provider's people choose their names."""


def draw() -> None:
    """Draws it for everybody but the owner, who is at home; whom the server lets in no longer the page itself tells so."""
    try:
        caller = session.caller()
    except TidemarkError:
        return
    if caller.name:
        label = _MARKDOWN.sub(r"\\\g<0>", caller.name)
        with st.container(key="who_bar"), st.popover(label, icon=":material/account_circle:", type="tertiary", key="who"):
            st.html(_card(caller))


def _card(caller: Caller) -> str:
    how = f"Signed in with a provider: {caller.identity}" if caller.identity else "With a named token"
    return (
        f'<div class="tm-who"><strong>{escape(caller.name)}</strong><span>{escape(caller.role)}</span>'
        f'<span class="tm-muted">{escape(how)}</span>'
        f'<form method="post" action="{OUT}"><button type="submit">Sign out</button></form></div>'
    )
