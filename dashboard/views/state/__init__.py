"""State: look into what a job remembers at a savepoint: which keys, which values, how many."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import equivalents, formats, navigation, session
from dashboard.views import operations, waiting
from dashboard.views.commands import commands
from dashboard.views.state import rows as state_rows
from dashboard.views.state import sql
from dashboard.widgets import command, empty_state, error_box, errors_shown, page_header
from pipelines.domain.errors import TidemarkError
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.requests import TakeRequest
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import StateRequest, StateTable

TEACHES = (
    "State is what a job keeps from batch to batch: a row a key. Spark reads it from the savepoint, in a process of its own; "
    "the job does not notice."
)
NO_STATE = "Its queries pass rows on and remember none. Aggregations, joins, deduplications and the like keep state."


def page() -> None:
    """Draws the state that the address names."""
    with errors_shown():
        _draw()


def _draw() -> None:
    every = session.workspace().savepoints()
    savepoint = _savepoint(every)
    if savepoint is None:
        _choose(session.selected("job"))
        return
    tables = session.workspace().states(savepoint.id)
    with page_header("State", caption=_caption(savepoint)):
        _commands(savepoint, tables)
        if _of_a_job(savepoint) and st.button(
            "New savepoint",
            icon=":material/bookmark_add:",
            key="state_now",
            help="Take one of the newest committed batch and open its state",
        ):
            _take(savepoint.job)
    table = _picker(every, savepoint, tables)
    _under_way(savepoint)
    if table is None:
        with empty_state("This job keeps no state", NO_STATE, key="stateless"):
            navigation.link("savepoints", "Open the savepoint", icon=":material/bookmarks:", savepoint=savepoint.id)
    elif table.reading is None:
        _unread(savepoint, table)
    else:
        state_rows.draw(savepoint, table, table.reading)
        sql.draw(savepoint, table)


def _under_way(savepoint: Savepoint) -> None:
    """What has been read stands on the page, so only failures stay to be seen."""

    def reads(one: Operation) -> bool:
        return one.kind == "read" and one.subject == savepoint.id

    for one in operations.ended(reads):
        if one.state is OperationState.DONE:
            operations.put_away(one.id)
    operations.under_way(reads, key="state")


def _savepoint(every: Sequence[Savepoint]) -> Savepoint | None:
    """The one that the address names, else the newest of its job, else the newest."""
    wanted, job = session.selected("savepoint"), session.selected("job")
    if wanted:
        return session.workspace().savepoint(wanted)
    return next((one for one in every if job in ("", one.job)), None)


def _caption(one: Savepoint) -> str:
    job = f'<a href="{navigation.href("job", job=one.job)}" target="_self">{one.job}</a>'
    at = f'<a href="{navigation.href("savepoints", savepoint=one.id)}" target="_self">{formats.short_id(one.id)}</a>'
    return f"what {job} remembers at batch {one.batch:,}, in savepoint {at}"


def _commands(one: Savepoint, tables: Sequence[StateTable]) -> None:
    url, table = session.url(), _chosen(tables)
    shown = [equivalents.states(one.id, url)]
    if table is not None:
        shown.append(equivalents.read_state(one.id, url, request(table)))
        if table.reading is not None:
            shown.append(equivalents.query_state(one.id, url, state_rows.asked(table)))
            shown.append(equivalents.query_state(one.id, url, sql.asked(table, session.selected("sql") or sql.FIRST)))
    commands(shown, key="state_command")


def request(table: StateTable) -> StateRequest:
    """Read this table."""
    return StateRequest(table.query, table.operator, table.store, table.variable)


def _picker(every: Sequence[Savepoint], savepoint: Savepoint, tables: Sequence[StateTable]) -> StateTable | None:
    """Two lists: savepoints of the job, tables of the savepoint; what is picked goes into the address."""
    own = [one for one in every if one.job == savepoint.job] or [savepoint]
    with st.container(horizontal=True, vertical_alignment="bottom", key="state_picker"):
        ids = [str(one.id) for one in own]
        picked = st.selectbox(
            "Savepoint", ids, index=ids.index(savepoint.id), format_func=lambda name: _says(own[ids.index(name)]),
            key=f"state_savepoint_{savepoint.id}", width=430,
        )  # fmt: skip
        if picked != savepoint.id:
            session.select(savepoint=picked, job="")
            st.rerun()
        return _table_picker(savepoint, tables) if tables else None


def _says(one: Savepoint) -> str:
    return " · ".join(
        filter(None, (formats.short_id(one.id), f"batch {one.batch:,}", formats.ago(one.created_ms, session.now_ms()), one.label))
    )


def _table_picker(savepoint: Savepoint, tables: Sequence[StateTable]) -> StateTable:
    chosen = _chosen(tables)
    assert chosen is not None
    at = st.selectbox(
        "State",
        range(len(tables)),
        index=tables.index(chosen),
        format_func=lambda i: _named(tables[i]),
        key=f"state_table_{savepoint.id}",
        width=520,
    )
    table = tables[at]
    if table != chosen:
        session.select(filter="", sort="", rows="", sql="")
    session.select(query=table.query, operator=str(table.operator), store=table.store, variable=table.variable)
    return table


def _named(one: StateTable) -> str:
    what = f"{one.variable} ({one.kind})" if one.variable else one.store
    rows = f"{formats.plural(one.reading.total, 'row')}" if one.reading else ""
    return " · ".join(
        filter(
            None,
            (
                one.query,
                f"{one.name or 'operator'} {one.operator}",
                what,
                "internal" if one.internal else "",
                rows,
                formats.size(one.bytes),
            ),
        )
    )


def _chosen(tables: Sequence[StateTable]) -> StateTable | None:
    """The one that the address names; else the first that is no internal one."""
    named = (session.selected("query"), session.selected("operator"), session.selected("store"), session.selected("variable"))
    fitting = [one for one in tables if (one.query, str(one.operator), one.store, one.variable) == named]
    return next(iter([*fitting, *(one for one in tables if not one.internal), *tables]), None)


def _unread(savepoint: Savepoint, table: StateTable) -> None:
    running = any(one.kind == "read" and one.subject == savepoint.id for one in session.workspace().operations(running=True))
    known = f"Its operator held {formats.plural(table.operator_rows, 'row')} at that batch. " if table.operator_rows is not None else ""
    size = f"{known}{formats.size(table.bytes)} in {formats.plural(table.partitions, 'partition')}."
    with empty_state("Being read" if running else "Not read yet", f"{TEACHES} {size}", key="unread"):
        if st.button("Read the state", type="primary", icon=":material/table_view:", key="read_state", disabled=running):
            _read(savepoint, table)
        command(equivalents.read_state(savepoint.id, session.url(), request(table)).command)


def _read(savepoint: Savepoint, table: StateTable) -> None:
    try:
        operations.begin(session.workspace().read_state(savepoint.id, request(table)))
    except TidemarkError as error:
        error_box(error)
        return
    st.rerun()


def _of_a_job(savepoint: Savepoint) -> bool:
    return any(one.job.name == savepoint.job for one in session.workspace().jobs())


def take(job: str) -> str:
    """A savepoint of the job's newest committed batch, by way of which its state is read; its id, empty where it was refused. The job's
    page opens where its bytes are copied: there it is seen how far that is."""
    try:
        taken = waiting.take(job, TakeRequest())
    except TidemarkError as error:
        error_box(error)
        return ""
    if taken is None:
        navigation.go("job", job=job)
    return taken.id


def _take(job: str) -> None:
    if taken := take(job):
        session.select(savepoint=taken, job="")
        st.rerun()


def _choose(job: str) -> None:
    """What stands there before there is a savepoint."""
    with page_header("State"):
        pass
    says = "A savepoint holds the job's state at one batch; its keys and values can be looked into from there. The job does not notice."
    with empty_state("No savepoint to look into", says, key="state"):
        if not job:
            navigation.link("overview", "Choose a job", icon=":material/monitoring:")
        elif st.button("Take a savepoint", type="primary", icon=":material/bookmark_add:", key="state_now"):
            _take(job)
        command(f"python -m pipelines savepoint {job or 'JOB'}")
