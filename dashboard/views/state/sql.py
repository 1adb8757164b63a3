"""SQL of one's own over one table of state: a box, and the answer or the error below it."""

from __future__ import annotations

import streamlit as st

from dashboard import formats, session
from dashboard.views.state.frame import show
from dashboard.widgets import errors_shown, section
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import StateQuery, StateTable

FIRST = "SELECT partition_id, count(*) AS rows\nFROM state\nGROUP BY ALL\nORDER BY rows DESC"
MOST_ROWS = 1_000


def draw(savepoint: Savepoint, table: StateTable) -> None:
    """What was run last stands in the address, so that a link shows the same answer."""
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


def asked(table: StateTable, sql: str) -> StateQuery:
    """The question `sql` to this table."""
    return StateQuery(table.query, table.operator, table.store, table.variable, sql=sql, limit=MOST_ROWS)


def _answer(savepoint: Savepoint, table: StateTable, sql: str) -> None:
    found = session.workspace().query_state(savepoint.id, asked(table, sql))
    if not found.rows:
        st.caption("The answer has no rows.")
        return
    show(found, key="state_answer", label="Answer to the SQL")
    more = f"the first {len(found.rows):,} rows" if found.more else formats.plural(len(found.rows), "row")
    st.caption(f"{more} in {formats.duration(found.took_ms)}")
