"""SQL of one's own over one table of state: a box, and the answer or the error below it."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.views.state.frame import show
from dashboard.widgets import errors_shown, section
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import StateTable
from pipelines.verbs.state import QueryState
from pipelines.words import formats

FIRST = "SELECT partition_id, count(*) AS rows\nFROM state\nGROUP BY ALL\nORDER BY rows DESC"
MOST_ROWS = 1_000


def draw(savepoint: Savepoint, table: StateTable) -> None:
    """The last query that was run is in the address, so that a link shows the same answer."""
    section("SQL", "one SELECT over the view <code>state</code>: <code>key</code>, <code>value</code> (structs), <code>partition_id</code>")
    ran = session.selected("sql")
    with st.form(f"state_sql_{table.title}", border=False):
        typed = st.text_area("SQL", ran or FIRST, key=f"state_sql_text_{table.title}", height=112, label_visibility="collapsed")
        if st.form_submit_button("Run", icon=":material/play_arrow:", key="state_sql_run"):
            ran = (typed or "").strip()
            session.select(sql=ran)
    if ran:
        with errors_shown():
            _answer(savepoint, table, ran)


def asked(savepoint: Savepoint, table: StateTable, sql: str) -> QueryState:
    """The question `sql` to this table."""
    return QueryState(savepoint.id, **table.names, sql=sql, limit=MOST_ROWS)


def _answer(savepoint: Savepoint, table: StateTable, sql: str) -> None:
    answer = session.workspace().ask(asked(savepoint, table, sql))
    if not answer.rows:
        st.caption("The query returned no rows.")
        return
    show(answer, key="state_answer", label="Result of the query")
    more = f"the first {len(answer.rows):,} rows" if answer.more else formats.plural(len(answer.rows), "row")
    st.caption(f"{more} in {formats.duration(answer.took_ms)}")
