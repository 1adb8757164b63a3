"""Named tokens on the page of the settings: who else is let in. A new one is shown in its dialog, this once."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import once, permitted, session
from dashboard.components.table import Cell, Column, Row, moment, table
from dashboard.dialogs import answer, dialog
from dashboard.views.commands import folded
from dashboard.views.endings import ending
from dashboard.widgets import error_box, errors_shown, plain_facts, section
from pipelines.domain.access import USUAL_DAYS, Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.moments import duration_ms
from pipelines.verbs.tokens import CreateToken, ListTokens, NewToken, RevokeToken, ShownToken
from pipelines.words import formats

COLUMNS = (Column("Token"), Column("Role"), Column("Lets in until"), Column("Made"), Column("By", wide=True))
CAN = {
    Role.VIEWER: "looks",
    Role.OPERATOR: "takes savepoints, stops and resumes jobs",
    Role.AUTHOR: "decides what code runs, too",
    Role.ADMIN: "decides who is let in, too",
}
DONE = "token_done"
"""The button under a new token, which is not drawn again by the run that its click begins."""
ONCE = "Copy it now: it is shown this once, and kept nowhere. Who shows it is let in, to the pages and over REST."
REVOKES = "Whoever shows it, and every browser that came with it, is let in no longer."


def tokens() -> None:
    """Draws the section: who has one, and the buttons that make and revoke one."""
    section("Tokens", "who else is let in, in which role")
    refused = session.refusal(Role.ADMIN)
    if refused:
        st.caption(refused)
        return
    with errors_shown():
        kept = session.workspace().ask(ListTokens())
        now_ms = session.now_ms()
        rows = [_row(token, now_ms) for token in kept]
        empty = "There is none: the owner's key alone lets in."
        table(COLUMNS, rows, key="tokens", label="Tokens", empty=empty, clickable=False, max_height=300)
        with st.container(horizontal=True, key="token_bar"):
            if permitted.button("New token…", Role.ADMIN, icon=":material/key:", key="new_token"):
                _ask_new()
            why_not = None if kept else "There is none to revoke"
            if permitted.button("Revoke…", Role.ADMIN, icon=":material/key_off:", key="revoke", disabled=not kept, help=why_not):
                _ask_revoke(kept)


def _row(token: ShownToken, now_ms: float) -> Row:
    is_over = token.expires_ms <= now_ms
    until = Cell("expired", tone="gray", hint=formats.exact(token.expires_ms, session.zone()), sort=token.expires_ms, unit="time")
    cells = (
        Cell(token.name, strong=True),
        Cell(token.role, hint=CAN[token.role]),
        until if is_over else moment(token.expires_ms, now_ms),
        moment(token.created_ms, now_ms),
        Cell(token.by or "the owner", muted=not token.by),
    )
    return Row(token.name, cells)


def _ask_new() -> None:
    @dialog("New token")
    def ask() -> None:
        if st.session_state.get(DONE):
            st.rerun()
        form = st.empty()
        with form.container():
            change = _asked()
            if change is not None:
                folded([change])
            agreed = answer("Create token", "token", icon=":material/key:", disabled=change is None)
        if agreed and change is not None:
            with errors_shown():
                new = once.do(change)
                form.empty()
                _show(new)

    ask()


def _asked() -> CreateToken | None:
    """What is typed of a new token, with until when it lets in; None where that is refused, or nothing is typed."""
    called = st.text_input("Name", key="token_name", placeholder="nightly-ci", help="Events call whoever shows the token so")
    name = (called or "").strip()
    role = st.selectbox("Role", list(Role), format_func=lambda role: f"{role}: {CAN[role]}", key="token_role") or Role.VIEWER
    usual = f"{USUAL_DAYS}d"
    lasts = (st.text_input("Lets in for", key="token_expires", placeholder=usual, help="Such as 12h or 30d") or "").strip()
    if not name:
        return None
    try:
        change = CreateToken(name, role, duration_ms(lasts) if lasts else None)
        plan = session.workspace().plan(change)
    except TidemarkError as error:
        error_box(error)
        return None
    st.caption(f"Lets in as {plan.role} until {formats.exact(plan.expires_ms, session.zone())}.")
    return change


def _show(new: NewToken) -> None:
    st.success(f"{new.name} lets in as {new.role}. {ONCE}", icon=":material/key:")
    st.code(new.secret, language=None, wrap_lines=True)
    with st.container(horizontal=True, horizontal_alignment="right", key="answer_token_done"):
        st.button("Done", type="primary", key=DONE)


def _ask_revoke(kept: Sequence[ShownToken]) -> None:
    @dialog("Revoke a token")
    def ask() -> None:
        names = [token.name for token in kept]
        name = st.selectbox("Token", names, index=None, placeholder="Choose one", key="revoked_token")
        token = next((token for token in kept if token.name == name), None)
        if token is not None:
            until = formats.when(token.expires_ms, session.now_ms(), session.zone())
            plain_facts([("Role", token.role), ("Lets in until", until), ("Made by", token.by or "the owner")])
        st.caption(REVOKES)
        ending(RevokeToken(token.name) if token else None, "Revoke", "revoke_token", icon=":material/key_off:", danger=True)

    ask()
