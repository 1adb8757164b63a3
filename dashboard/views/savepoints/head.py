"""The head of one savepoint: its name, how far it is trusted, what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import equivalents, navigation, session
from dashboard.equivalents import Equivalent
from dashboard.trust import ORIGIN_HINTS, ORIGINS, badges
from dashboard.views.commands import listed, said
from dashboard.views.savepoints import actions, disposing, exports
from dashboard.views.versions import difference
from dashboard.widgets import chip, entry, menu
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust


def head(savepoint: Savepoint, *, key: str, tree_link: bool = True) -> None:
    """Its name and badges at the left, what can be done with it at the right."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"savepoint_head_{key}"):
        label = f'<span class="tm-caption">{escape(savepoint.label)}</span>' if savepoint.label else ""
        chips = badges(savepoint, session.now_ms()) + chip(ORIGINS[savepoint.reason], hint=ORIGIN_HINTS[savepoint.reason])
        name = f'<span class="tm-mono" style="font-size:15px;font-weight:600" data-testid="savepoint-id">{savepoint.id}</span>'
        st.html(f'<div class="tm-head">{name}{chips}{label}</div>', width="stretch")
        _actions(savepoint, key)
        _more(savepoint, key, tree_link)


def _actions(savepoint: Savepoint, key: str) -> None:
    level = st.menu_button(
        "Verify",
        list(actions.LEVELS),
        format_func=actions.LEVELS.__getitem__,
        key=f"verify_{key}",
        icon=":material/verified:",
    )
    if level:
        actions.verify([savepoint], level)
    if st.button("Prove", icon=":material/science:", key=f"prove_{key}", help=actions.PROVES):
        actions.verify([savepoint], Trust.PROVED)
    damaged = "It is damaged and would not be restored." if savepoint.damaged_files else None
    if st.button("Export…", icon=":material/upload:", key=f"export_{key}", disabled=bool(damaged), help=damaged):
        exports.ask_export(savepoint)
    refused = actions.why_not_resumed(savepoint)
    if st.button("Resume from here", icon=":material/history:", key=f"resume_{key}", disabled=bool(refused), help=refused or None):
        actions.ask_resume(savepoint)
    if st.button("Fork", type="primary", icon=":material/call_split:", key=f"fork_{key}", disabled=bool(damaged), help=damaged):
        navigation.go("fork", savepoint=savepoint.id)


def _more(savepoint: Savepoint, key: str, tree_link: bool) -> None:
    of = f"commands_{key}"
    with menu(of):
        if entry("Look into the state", icon=":material/database:", key=f"state_{key}", of=of):
            navigation.go("state", savepoint=savepoint.id)
        if tree_link and entry("In the tree", icon=":material/account_tree:", key=f"tree_{key}", of=of):
            navigation.go("versions", savepoint=savepoint.id)
        if entry("Compare with the job now", icon=":material/compare_arrows:", key=f"compare_{key}", of=of):
            difference.go(savepoint.id, savepoint.job)
        if entry("Compare with…", icon=":material/difference:", key=f"compare_with_{key}", of=of):
            navigation.go("versions", savepoint=savepoint.id)
        if entry("Dispose…", icon=":material/delete:", key=f"dispose_{key}", of=of):
            disposing.ask([savepoint])
        listed(_commands(savepoint))


def _commands(one: Savepoint) -> Sequence[Equivalent]:
    at, fork, url = f"/savepoints/{one.id}", f"{one.job}_fork", session.url()
    return (
        said("Fork", ["fork", one.id, "--name", fork], "POST", f"{at}/fork", {"name": fork}),
        equivalents.resume(one.job, url, from_savepoint=one.id),
        equivalents.verify(one.id, url, Trust.INTACT),
        equivalents.verify(one.id, url, Trust.PROVED),
        equivalents.annotate(one.id, url, label=one.label or "LABEL"),
        equivalents.dispose([one.id], url),
    )
