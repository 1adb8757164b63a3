"""Actions on several savepoints at once: verify, export, label, dispose of, compare two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.dialogs import answer, dialog
from dashboard.views.commands import folded
from dashboard.views.savepoints import actions, annotation, disposal, exports
from dashboard.widgets import chip
from pipelines.domain.access import Role
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.space import SavepointSpace
from pipelines.domain.texts import LABEL
from pipelines.domain.trust import Trust
from pipelines.verbs.annotate import Annotate
from pipelines.words import formats
from pipelines.words.savepoints import points

LEVELS = {**actions.LEVELS, Trust.PROVED: "Proof by Spark, one after the other"}
NAMED = 4
"""So many are named in the bar, the rest counted."""


def bulk(chosen: Sequence[Savepoint]) -> None:
    """The bar with the actions."""
    with st.container(border=True, key="card_bulk"), st.container(horizontal=True, vertical_alignment="center"):
        st.html(_head(chosen), width="stretch")
        if len(chosen) == 2 and st.button("Compare", icon=":material/compare_arrows:", key="bulk_compare"):
            navigation.go("versions", savepoint=chosen[0].id, **{"with": chosen[1].id})
        level = st.menu_button("Verify", list(LEVELS), format_func=LEVELS.__getitem__, key="bulk_verify", icon=":material/verified:")
        if level:
            actions.verify(chosen, level)
        if permitted.button("Export…", Role.OPERATOR, icon=":material/upload:", key="bulk_export"):
            exports.ask_export_all(chosen)
        if permitted.button("Label…", Role.OPERATOR, icon=":material/label:", key="bulk_label"):
            ask_label(chosen)
        if permitted.button("Dispose…", Role.OPERATOR, icon=":material/delete:", key="bulk_dispose"):
            disposal.ask(chosen)
        if st.button("", icon=":material/close:", type="tertiary", key="bulk_none", help="Select none"):
            session.select(savepoint="")
            st.rerun()


def _head(chosen: Sequence[Savepoint]) -> str:
    named = "".join(
        chip(formats.short_id(savepoint.id), mono=True, hint=f"{savepoint.job}, {points(savepoint)}") for savepoint in chosen[:NAMED]
    )
    more = f'<span class="tm-caption">and {len(chosen) - NAMED:,} more</span>' if len(chosen) > NAMED else ""
    words = escape(_held(chosen, session.spaces()))
    return f'<div class="tm-head"><strong>{len(chosen):,} savepoints</strong>{named}{more}<span class="tm-caption">{words}</span></div>'


def _held(chosen: Sequence[Savepoint], spaces: Mapping[SavepointId, SavepointSpace]) -> str:
    """Their full size; before that is measured, the size of Spark's files."""
    sizes = [spaces[savepoint.id].bytes if savepoint.id in spaces else savepoint.bytes for savepoint in chosen]
    return f"{formats.size(sum(sizes))} in all"


def ask_label(chosen: Sequence[Savepoint]) -> None:
    """Sets one label and one best-before date on all; an empty field leaves them as they are."""

    @dialog(f"Label {len(chosen)} savepoints")
    def ask() -> None:
        label = st.text_input("Label", key="bulk_label_text", max_chars=LABEL.most, placeholder="Empty: each keeps its own")
        until_ms = annotation.best_before(None, key="bulk_label_until")
        st.caption(annotation.UNTIL)
        replaced = sum(bool(savepoint.label) and savepoint.label != label for savepoint in chosen) if label else 0
        if replaced:
            st.caption(f"Replaces the label of {formats.plural(replaced, 'savepoint')}.")
        change = Annotate(chosen[0].id, label or None, None, until_ms)
        if label:
            folded([("Label the savepoint", Annotate(savepoint.id, label=label)) for savepoint in chosen[: exports.MOST_SAID]])
        yes = answer("Save", "bulk_label", icon=":material/check:", disabled=change == Annotate(chosen[0].id))
        if yes and annotation.annotate(chosen, change):
            st.rerun()

    ask()
