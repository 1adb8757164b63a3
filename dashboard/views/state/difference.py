"""A difference of state: pictures of which keys differ first, then how far columns drifted, then keys with both values, and SQL."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.components import frames
from dashboard.components.panel import panel
from dashboard.drawing import state_differences as drawing
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views import operations
from dashboard.views.commands import commands
from dashboard.views.state.frame import show
from dashboard.widgets import empty_state, errors_shown, message_box, page_header, section
from pipelines.domain.access import Role
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.state_differences import StateDifference, TableDifference
from pipelines.domain.states import StateRows
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.state_difference import CompareState, QueryStateDifference, ShowStateDifference
from pipelines.words import formats, operators
from pipelines.words import state_differences as words
from pipelines.words import state_keys as key_words
from pipelines.words.savepoints import points

EVERY = "every change"
CHANGES = (EVERY, "added", "removed", "changed")
EXAMPLES = 200
FIRST = "SELECT change, count(*) AS keys\nFROM difference\nGROUP BY ALL"


def offer(savepoint: Savepoint, every: Sequence[Savepoint]) -> None:
    """The points that the savepoint can be compared with, and the button; opens the difference when it is there."""

    def compares(operation: Operation) -> bool:
        return operation.kind == "compare-state" and savepoint.id in operation.subject.split()

    for operation in operations.ended(compares):
        if operation.state is OperationState.DONE:
            operations.put_away(operation.id)
            session.select(difference=operation.result or "")
            st.rerun()
    others = _others(savepoint, every)
    with st.container(horizontal=True, vertical_alignment="bottom", key="state_compare"):
        picked = st.selectbox(
            "Compare with", list(others), index=None, format_func=others.__getitem__, key=f"state_against_{savepoint.id}",
            placeholder="Another savepoint, or a job as it is now", width=430,
        )  # fmt: skip
        if permitted.button(
            "Compare", Role.OPERATOR, icon=":material/difference:", key="compare_state", disabled=picked is None,
            help="Key by key: added, removed, changed",
        ) and picked:  # fmt: skip
            _begin(savepoint, picked)
    operations.under_way(compares, key="state_difference")


def _others(savepoint: Savepoint, every: Sequence[Savepoint]) -> dict[str, str]:
    """What can be compared with the savepoint: name -> words; the own job first."""
    jobs = [summary.job.name for summary in session.workspace().ask(ListJobs())]
    now = {str(job): f"{job} · newest batch, now" for job in sorted(jobs, key=lambda job: job != savepoint.job)}
    saved = sorted((other for other in every if other.id != savepoint.id), key=lambda other: other.job != savepoint.job)
    labels = {str(other.id): f"{other.job} · {says(other)}" for other in saved}
    return {**labels, **now}


def says(savepoint: Savepoint) -> str:
    """A savepoint in a list."""
    age = formats.ago(savepoint.created_ms, session.now_ms())
    return " · ".join(filter(None, (formats.short_id(savepoint.id), points(savepoint), age, savepoint.label)))


def _begin(savepoint: Savepoint, other: str) -> None:
    with errors_shown():
        operations.begin(CompareState(savepoint.id, other))
        st.rerun()


def draw(named: str) -> None:
    """The page of the difference of that id."""
    difference = session.workspace().ask(ShowStateDifference(named))
    with page_header("State difference", caption=f"A is {words.point(difference.a)} → B is {words.point(difference.b)}"):
        commands([CompareState(difference.a.named, difference.b.named), ShowStateDifference(named)], key="state_difference_command")
        if st.button("Close", icon=":material/close:", key="state_difference_close", help="Back to the state of one savepoint"):
            session.select(difference="", query="", operator="", store="", variable="", sql="", change="")
            st.rerun()
    for state in difference.apart:
        message_box(f"{state.title} was not compared", state.reason, tone="orange")
    if not difference.tables:
        with empty_state("Nothing could be compared", "The two points have no state in common; above is why.", key="apart"):
            navigation.link("versions", "See what else differs", icon=":material/account_tree:")
        return
    if len(difference.tables) > 1:
        panel(drawing.by_operator(difference), key="difference_operators")
    table = _picked(difference)
    key_figures(_figures(table))
    _charts(table)
    _drift(table)
    _examples(difference, table)
    _sql(difference, table)


def _picked(difference: StateDifference) -> TableDifference:
    titles = [table.title for table in difference.tables]
    title = " / ".join(filter(None, (session.selected(name) for name in ("query", "operator", "store", "variable"))))
    if len(titles) == 1:
        return difference.tables[0]
    at = st.selectbox("State", range(len(titles)), index=titles.index(title) if title in titles else 0, format_func=titles.__getitem__,
                      key="difference_table", width=520)  # fmt: skip
    table = difference.tables[at]
    session.select(query=table.query, operator=str(table.operator), store=table.store, variable=table.variable)
    return table


def _figures(table: TableDifference) -> list[KeyFigure]:
    changes, both = table.changes, table.same + table.changes.changed
    share = f"{changes.changed / both:.1%} of keys on both sides" if both else "no key on both sides"
    return [
        KeyFigure("Keys at A", formats.count(table.keys_a), note=operators.kind(table.name)),
        KeyFigure("Keys at B", formats.count(table.keys_b), note=f"{table.keys_b - table.keys_a:+,}"),
        KeyFigure("Added", formats.count(changes.added), note="only at B"),
        KeyFigure("Removed", formats.count(changes.removed), note="only at A"),
        KeyFigure("Changed", formats.count(changes.changed), note=share),
        KeyFigure("The same", formats.count(table.same), note="equal key and value"),
    ]


def _charts(table: TableDifference) -> None:
    cells = st.columns(2, gap="small")
    with cells[0]:
        shown = drawing.by_window(table.windows) if table.windows else drawing.by_partition(table.partitions)
        panel(shown, key="difference_where")
    with cells[1]:
        panel(drawing.by_column(table), key="difference_columns")


def _drift(table: TableDifference) -> None:
    if not table.columns:
        return
    section("Drift by column", "over all rows of either side")
    rows = [
        {
            "column": column.name,
            "keys changed": column.changed,
            **{
                f"{words_of} {side_name}": words.bound(getattr(side, part), column.kind)
                for part, words_of in (("mean", "mean"), ("least", "least"), ("greatest", "greatest"))
                for side_name, side in (("A", column.a), ("B", column.b))
            },
            "largest change": words.largest(column),
        }
        for column in table.columns
    ]
    frames.shown(pd.DataFrame(rows), name="drift", key="difference_drift", alt="Drift by column")
    for note in table.notes:
        st.caption(f"Not compared: {note}.")


def _examples(difference: StateDifference, table: TableDifference) -> None:
    section("Keys that differ", "<code>a</code> is the value at A, <code>b</code> at B")
    if not table.changes.total:
        st.caption("Every key has the same value on both sides.")
        return
    chosen = st.segmented_control("Change", CHANGES, default=EVERY, key="difference_change", label_visibility="collapsed") or EVERY
    with errors_shown():
        kept = "" if chosen == EVERY else f" WHERE change = '{chosen}'"
        asked = QueryStateDifference(difference.id, **table.names, sql=f"SELECT * FROM difference{kept}", limit=EXAMPLES)
        answer = session.workspace().ask(asked)
        if answer.rows:
            show(answer, key="difference_rows", label="Keys that differ")
            _history(difference, table, answer)
        total = table.changes.total if chosen == EVERY else getattr(table.changes, chosen)
        st.caption(f"{len(answer.rows):,} of {formats.plural(total, 'key')}")


def _history(difference: StateDifference, table: TableDifference, answer: StateRows) -> None:
    """The way from each key that is shown to the batches that changed it, in the job of the newer point."""
    keys = [key for key in dict.fromkeys(key_words.typed(answer.columns, row) for row in answer.rows) if key]
    if not keys:
        return
    older, newer = sorted((difference.a, difference.b), key=lambda at: at.batches.get(table.query, 0))
    before, after = (at.batches.get(table.query, 0) for at in (older, newer))
    with st.container(horizontal=True, vertical_alignment="bottom", key="difference_history"):
        picked = st.selectbox("History of one key", keys, format_func=lambda key: key.replace("\n", ", "), key="difference_key", width=520)
        since = str(before if before < after else 0)
        names = {name: str(value) for name, value in table.names.items()}
        navigation.link(
            "job", "Which batches changed it", icon=":material/history:", job=newer.job, tab="State", key=picked, since=since, **names
        )


def _sql(difference: StateDifference, table: TableDifference) -> None:
    section("SQL", "one SELECT over the views <code>difference</code>, <code>a</code> and <code>b</code>")
    ran = session.selected("sql")
    with st.form("difference_sql", border=False):
        typed = st.text_area("SQL", ran or FIRST, key="difference_sql_text", height=112, label_visibility="collapsed")
        if st.form_submit_button("Run", icon=":material/play_arrow:", key="difference_sql_run"):
            ran = (typed or "").strip()
            session.select(sql=ran)
    if ran:
        with errors_shown():
            answer = session.workspace().ask(QueryStateDifference(difference.id, **table.names, sql=ran, limit=1_000))
            show(answer, key="difference_answer", label="Result of the query")
