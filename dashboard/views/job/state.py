"""The state of the job: the tables in its newest savepoint, each a click away from its keys and values; its partitions as heat maps."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.components.table import Cell, Column, Paged, Row, moment, number, table
from dashboard.paging import Key, chosen
from dashboard.views import state as states
from dashboard.views.commands import commands
from dashboard.views.job import heat, key
from dashboard.widgets import command, empty_state, section, when
from pipelines.domain.access import Role
from pipelines.domain.jobs import JobDetail
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import StateTable
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.state import ListStates
from pipelines.words import formats, operators
from pipelines.words.savepoints import points

COLUMNS = (
    Column("State", wide=True),
    Column("Query"),
    Column("Operator"),
    Column("Operator's rows", "right", "As counted at that batch by the job itself, or by a proof"),
    Column("Partitions", "right"),
    Column("Size", "right", "Size of the store's files in the savepoint; the variables of one store share them"),
    Column("Rows read", "right"),
    Column("Read", hint="When Spark last read it; a click reads it, or shows what was read"),
)
KEYS: Mapping[str, Key[StateTable]] = {
    "State": lambda it: it.variable or it.store,
    "Query": lambda it: it.query,
    "Operator": lambda it: it.operator,
    "Operator's rows": lambda it: it.operator_rows,
    "Partitions": lambda it: it.partitions,
    "Size": lambda it: it.bytes,
    "Rows read": lambda it: it.reading.total if it.reading else None,
    "Read": lambda it: it.reading.read_ms if it.reading else None,
}
"""Column -> what it is ordered by."""
NONE = "State is looked into at a savepoint: its keys and values are read from there, and the job does not notice."


def draw(name: str, detail: JobDetail, now: float) -> None:
    """The tables of the newest savepoint; the sizes of all partitions over time."""
    taken = session.workspace().ask(ListSavepoints(name))
    if taken:
        _tables(taken[0], name, now)
    else:
        _none(name)
    if detail.summary.batch is not None:
        heat.draw(name)


def _tables(newest: Savepoint, name: str, now: float) -> None:
    tables = session.shared(ListStates(newest.id))
    with st.container(horizontal=True, vertical_alignment="center", key="head_state"):
        section("State", f"at {escape(points(newest))}, in {escape(formats.short_id(newest.id))} · taken {when(newest.created_ms, now)}")
        if permitted.button(
            "Savepoint of the newest batch",
            Role.OPERATOR,
            icon=":material/bookmark_add:",
            key="state_newest",
            help="To look into its state",
        ):
            _take(name)
        commands([ListStates(newest.id)], key="commands_state")
    if not tables:
        with empty_state("This job keeps no state", states.NO_STATE, key="job_stateless"):
            pass
        return
    rows = Paged(chosen(tables, KEYS, "states"), lambda shown: [row(state_table, now) for state_table in shown])
    opened = table(COLUMNS, rows, key="states", label="State of this job")
    key.draw(name, newest.id, tables, now)
    if opened:
        _open(newest, next(state_table for state_table in tables if state_table.title == opened))


def row(state_table: StateTable, now: float) -> Row:
    """One table of state in the list."""
    what = f"{state_table.variable} ({state_table.kind})" if state_table.variable else state_table.store
    cells = (
        Cell(
            what,
            strong=not state_table.internal,
            muted=state_table.internal,
            hint="Spark's own bookkeeping of a join, not the code's values" if state_table.internal else "",
        ),
        Cell(state_table.query),
        Cell(f"{operators.kind(state_table.name)} · {state_table.operator}", hint=state_table.name),
        number(state_table.operator_rows, formats.count),
        number(state_table.partitions, formats.count),
        number(state_table.bytes, formats.size),
        _read(state_table),
        moment(state_table.reading.read_ms if state_table.reading else None, now),
    )
    return Row(state_table.title, cells)


def _read(state_table: StateTable) -> Cell:
    """The rows that there are, as a warning where the operator counted others."""
    total, apart = state_table.reading.total if state_table.reading else None, state_table.rows_apart
    if not apart:
        return number(total, formats.count)
    return Cell(formats.count(total), sort=total, tone="orange", hint=f"The operator counted {formats.count(state_table.operator_rows)}")


def _open(savepoint: Savepoint, state_table: StateTable) -> None:
    navigation.go(
        "state",
        savepoint=savepoint.id,
        query=state_table.query,
        operator=str(state_table.operator),
        store=state_table.store,
        variable=state_table.variable,
    )


def _take(name: str) -> None:
    if taken := states.take(name):
        navigation.go("state", savepoint=taken)


def _none(name: str) -> None:
    with empty_state("No savepoint to look into", NONE, key="job_state"):
        if permitted.button("Take a savepoint", Role.OPERATOR, type="primary", icon=":material/bookmark_add:", key="state_newest"):
            _take(name)
        command(f"python -m pipelines savepoint {name}")
