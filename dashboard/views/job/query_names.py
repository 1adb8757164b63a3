"""Another name for a query of a job that runs elsewhere: the dialog asks for it, says what keeps the old one, and begins it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.dialogs import dialog
from dashboard.views.endings import ending, planned
from dashboard.widgets import plain_facts
from pipelines.domain.ids import QueryName, folder_of
from pipelines.verbs.rename_query import RenameQuery
from pipelines.words import formats

SAYS = "A fork's code has to call its query as it is called here: give the query the name that its script gives it."


def ask_rename(job: str, queries: Sequence[QueryName]) -> None:
    """Opens the question."""

    @dialog(f"Rename a query of {job}")
    def ask() -> None:
        st.caption(SAYS)
        query = st.selectbox("Query", queries, key="renamed_query")
        to = st.text_input("New name", key="renamed_to", placeholder="The queryName in its script", live=True) or ""
        change = RenameQuery(job, query, to) if query and to else None
        plan = planned(change) if change else None
        if plan is not None:
            kept = f"{formats.plural(plan.savepoints, 'savepoint')}: take a new one afterwards" if plan.savepoints else "no savepoint"
            folder = [("Its folders are called", folder_of(plan.to))] if folder_of(plan.to) != plan.to else []
            plain_facts([("Keeps the old name", kept), ("Watched on", plan.checkpoint), *folder])
        help = None if change else "Give it a name"
        ending(change, "Rename", "rename_query", ready=plan is not None, help=help)

    ask()
