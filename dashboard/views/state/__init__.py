"""State: look into what a job remembers at a savepoint: which keys, which values, how many."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import address, navigation, permitted, session
from dashboard.views import changes, operations
from dashboard.views.commands import Shown, commands
from dashboard.views.state import difference, sql
from dashboard.views.state import rows as state_rows
from dashboard.widgets import command, empty_state, error_box, errors_shown, page_header
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import StateTable
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.shell import as_command
from pipelines.verbs.state import ListStates
from pipelines.verbs.take import Take
from pipelines.words import formats, operators
from pipelines.words.savepoints import points

TEACHES = (
    "State is what a job keeps from batch to batch: one row for each key. Spark reads it from the savepoint, in a process of its own; "
    "the job does not notice."
)
NO_STATE = "Its queries pass rows on and remember none. Aggregations, joins, deduplications and the like keep state."
PARTS = ("query", "operator", "store", "variable")
"""Names in the address that together say which table of state is shown."""
ADDRESS = {"operator": address.NUMBER, "rows": address.NUMBER}


def page() -> None:
    """Draws the state that the address names."""
    with errors_shown():
        _draw()


def _draw() -> None:
    if named := session.selected("difference"):
        difference.draw(named)
        return
    every = session.workspace().ask(ListSavepoints())
    savepoint = _savepoint(every)
    if savepoint is None:
        _choose(session.selected("job"))
        return
    tables = session.workspace().ask(ListStates(savepoint.id))
    with page_header("State", caption=_caption(savepoint)):
        _commands(savepoint, tables)
        if _of_a_job(savepoint) and permitted.button(
            "New savepoint",
            Role.OPERATOR,
            icon=":material/bookmark_add:",
            key="state_now",
            help="Take one of the newest committed batch and open its state",
        ):
            _take(savepoint.job)
    table = _picker(every, savepoint, tables)
    if table is not None:
        difference.offer(savepoint, every)
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
    """The running and failed readings; one that is done is on the page, so its operation is closed."""

    def reads(operation: Operation) -> bool:
        return operation.kind == "read" and operation.subject == savepoint.id

    for operation in operations.ended(reads):
        if operation.state is OperationState.DONE:
            operations.put_away(operation.id)
    operations.under_way(reads, key="state")


def _savepoint(every: Sequence[Savepoint]) -> Savepoint | None:
    """The one that the address names, else the newest of its job, else the newest."""
    named, job = session.selected("savepoint"), session.selected("job")
    if named:
        return session.workspace().ask(ShowSavepoint(named))
    return next((savepoint for savepoint in every if job in ("", savepoint.job)), None)


def _caption(savepoint: Savepoint) -> str:
    job = f'<a href="{navigation.href("job", job=savepoint.job)}" target="_self">{savepoint.job}</a>'
    at = f'<a href="{navigation.href("savepoints", savepoint=savepoint.id)}" target="_self">{formats.short_id(savepoint.id)}</a>'
    return f"state of {job} at {escape(points(savepoint))}, in savepoint {at}"


def _commands(savepoint: Savepoint, tables: Sequence[StateTable]) -> None:
    table = _chosen(tables)
    shown: list[Shown] = [ListStates(savepoint.id)]
    if table is not None:
        shown.append(state_rows.reading_of(savepoint, table))
        if table.reading is not None:
            shown.append(("Show rows", state_rows.asked(savepoint, table)))
            shown.append(("Query with SQL", sql.asked(savepoint, table, session.selected("sql") or sql.FIRST)))
    commands(shown, key="state_command")


def _picker(every: Sequence[Savepoint], savepoint: Savepoint, tables: Sequence[StateTable]) -> StateTable | None:
    """Two lists: savepoints of the job, tables of the savepoint; what is picked goes into the address."""
    own = [other for other in every if other.job == savepoint.job] or [savepoint]
    for place, part in enumerate(PARTS):
        address.check_among(part, {_name(table)[place] for table in tables}, part)
    with st.container(horizontal=True, vertical_alignment="bottom", key="state_picker"):
        ids = [str(other.id) for other in own]
        picked = st.selectbox(
            "Savepoint", ids, index=ids.index(savepoint.id), format_func=lambda name: difference.says(own[ids.index(name)]),
            key=f"state_savepoint_{savepoint.id}", width=430,
        )  # fmt: skip
        if picked != savepoint.id:
            session.select(savepoint=picked, job="")
            st.rerun()
        return _table_picker(savepoint, tables) if tables else None


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


def _named(table: StateTable) -> str:
    what = f"{table.variable} ({table.kind})" if table.variable else table.store
    rows = f"{formats.plural(table.reading.total, 'row')}" if table.reading else ""
    return " · ".join(
        filter(
            None,
            (
                table.query,
                f"{operators.kind(table.name)} {table.operator}",
                what,
                "internal" if table.internal else "",
                rows,
                formats.size(table.bytes),
            ),
        )
    )


def _chosen(tables: Sequence[StateTable]) -> StateTable | None:
    """The one that the address names; what it leaves out is that of the first that fits, no internal one where there is another."""
    named = [session.selected(name) for name in PARTS]
    fitting = [table for table in tables if all(name in ("", own) for name, own in zip(named, _name(table), strict=True))]
    exact = [table for table in fitting if list(_name(table)) == named]
    return next((table for some in (exact, _plain(fitting), _plain(tables), tables) for table in some), None)


def _name(table: StateTable) -> tuple[str, str, str, str]:
    return table.query, str(table.operator), table.store, table.variable


def _plain(tables: Sequence[StateTable]) -> list[StateTable]:
    return [table for table in tables if not table.internal]


def _unread(savepoint: Savepoint, table: StateTable) -> None:
    running = any(operation.kind == "read" and operation.subject == savepoint.id for operation in operations.running())
    known = f"Its operator held {formats.plural(table.operator_rows, 'row')} at that batch. " if table.operator_rows is not None else ""
    size = f"{known}{formats.size(table.bytes)} in {formats.plural(table.partitions, 'partition')}."
    with empty_state("Being read" if running else "Not read yet", f"{TEACHES} {size}", key="unread"):
        if permitted.button(
            "Read the state", Role.OPERATOR, type="primary", icon=":material/table_view:", key="read_state", disabled=running
        ):
            _read(savepoint, table)
        command(as_command(state_rows.reading_of(savepoint, table)))


def _read(savepoint: Savepoint, table: StateTable) -> None:
    with errors_shown():
        operations.begin(state_rows.reading_of(savepoint, table))
        st.rerun()


def _of_a_job(savepoint: Savepoint) -> bool:
    return any(summary.job.name == savepoint.job for summary in session.workspace().ask(ListJobs()))


def take(job: str) -> str:
    """Takes a savepoint of the job's newest committed batch, to read its state; returns its id, empty where it was refused. Opens the job's
    page where the savepoint is still being copied: the progress is there."""
    try:
        taken = changes.take(Take(job))
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
    """The page where there is no savepoint yet."""
    with page_header("State"):
        pass
    says = "A savepoint holds the job's state at one batch; its keys and values can be looked into from there. The job does not notice."
    with empty_state("No savepoint to look into", says, key="state"):
        if not job:
            navigation.link("overview", "Choose a job", icon=":material/monitoring:")
        elif permitted.button("Take a savepoint", Role.OPERATOR, type="primary", icon=":material/bookmark_add:", key="state_now"):
            _take(job)
        command(f"python -m pipelines savepoint {job or 'JOB'}")
