"""The head of one savepoint: its id, trust and actions."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.trust import badges
from dashboard.views.commands import Shown, commands
from dashboard.views.savepoints import actions, disposal, exports, holdings
from dashboard.widgets import chip, entry, menu
from pipelines.domain.access import Role
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.resume import Resume
from pipelines.verbs.verify import Verify
from pipelines.words.savepoints import ORIGIN_HINTS, ORIGINS


def head(savepoint: Savepoint, *, key: str, tree_link: bool = True) -> None:
    """Draws its id and badges at the left, its actions at the right."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"savepoint_head_{key}"):
        label = f'<span class="tm-caption">{escape(savepoint.label)}</span>' if savepoint.label else ""
        chips = badges(savepoint, session.now_ms()) + chip(ORIGINS[savepoint.reason], hint=ORIGIN_HINTS[savepoint.reason])
        name = f'<span class="tm-mono" style="font-size:15px;font-weight:600" data-testid="savepoint-id">{savepoint.id}</span>'
        st.html(f'<div class="tm-head">{name}{chips}{label}</div>', width="stretch")
        _actions(savepoint, key)
        commands(_commands(savepoint), key=f"shell_{key}")
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
    if permitted.button("Prove", Role.OPERATOR, icon=":material/science:", key=f"prove_{key}", help=actions.PROVES):
        actions.verify([savepoint], Trust.PROVED)
    damaged = actions.DAMAGED if savepoint.damaged_files else None
    if permitted.button("Export…", Role.OPERATOR, icon=":material/upload:", key=f"export_{key}", disabled=bool(damaged), help=damaged):
        exports.ask_export(savepoint)
    refused = actions.why_not_resumed(savepoint)
    if permitted.button(
        "Resume from here", Role.OPERATOR, icon=":material/history:", key=f"resume_{key}", disabled=bool(refused), help=refused or None
    ):
        actions.ask_resume(savepoint)
    if permitted.button(
        "Fork", Role.AUTHOR, type="primary", icon=":material/call_split:", key=f"fork_{key}", disabled=bool(damaged), help=damaged
    ):
        navigation.go("fork", savepoint=savepoint.id)


def _more(savepoint: Savepoint, key: str, tree_link: bool) -> None:
    of = f"commands_{key}"
    with menu(of):
        if entry("Look into the state", icon=":material/database:", key=f"state_{key}", of=of):
            navigation.go("state", savepoint=savepoint.id)
        if tree_link and entry("Show in Versions", icon=":material/account_tree:", key=f"tree_{key}", of=of):
            navigation.go("versions", savepoint=savepoint.id)
        if entry("Compare with the job now", icon=":material/compare_arrows:", key=f"compare_{key}", of=of):
            navigation.go("versions", savepoint=savepoint.id, **{"with": savepoint.job})
        if entry("Compare with…", icon=":material/difference:", key=f"compare_with_{key}", of=of):
            navigation.go("versions", savepoint=savepoint.id)
        if entry("Ask its sources what they hold", icon=":material/inventory:", key=f"holdings_{key}", of=of, role=Role.OPERATOR):
            holdings.ask(savepoint)
        if entry("Dispose…", icon=":material/delete:", key=f"dispose_{key}", of=of, role=Role.OPERATOR):
            disposal.ask([savepoint])


def _commands(savepoint: Savepoint) -> Sequence[Shown]:
    return (
        Fork(savepoint=savepoint.id, name=f"{savepoint.job}_fork"),
        ("Resume from here", Resume(savepoint.job, from_savepoint=savepoint.id)),
        Verify(savepoint.id),
        ("Prove the savepoint", Verify(savepoint.id, Trust.PROVED)),
        ("Ask its sources what they hold", AskHoldings(savepoint.id)),
        ("Label the savepoint", Annotate(savepoint.id, label=savepoint.label or "LABEL")),
        Dispose((savepoint.id,)),
    )
