"""What the job remembers: the tables of state in its newest savepoint, each a click away from its keys and values."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import equivalents, formats, navigation, session
from dashboard.components.table import Cell, Column, Row, moment, number, table
from dashboard.views import state as states
from dashboard.views.commands import commands
from dashboard.widgets import command, empty_state, section, when
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import StateTable

COLUMNS = (
    Column("State", wide=True),
    Column("Query"),
    Column("Operator"),
    Column("Operator's rows", "right", "As a proof or the job itself counted them at that batch"),
    Column("Partitions", "right"),
    Column("Size", "right", "What the store's files take in the savepoint; the variables of one store share it"),
    Column("Rows read", "right"),
    Column("Read", hint="When Spark last read it; a click reads it, or shows what was read"),
)
NONE = "State is looked into at a savepoint: its keys and values are read from there, and the job does not notice."


def draw(name: str, now: float) -> None:
    """The tables of the newest savepoint."""
    taken = session.workspace().savepoints(name)
    if not taken:
        _none(name)
        return
    newest = taken[0]
    tables = session.shared("states", lambda: session.workspace().states(newest.id), newest.id)
    with st.container(horizontal=True, vertical_alignment="center", key="head_state"):
        section("State", f"at batch {newest.batch:,}, in {escape(formats.short_id(newest.id))} · taken {when(newest.created_ms, now)}")
        if st.button("Of the newest batch", icon=":material/bookmark_add:", key="state_newest", help="Takes a savepoint of it"):
            _take(name)
        commands([equivalents.states(newest.id, session.url())], key="commands_state")
    if not tables:
        with empty_state("This job keeps no state", states.NO_STATE, key="job_stateless"):
            pass
        return
    opened = table(COLUMNS, [row(one, now) for one in tables], key="states", label="State of this job")
    if opened:
        _open(newest, next(one for one in tables if one.title == opened))


def row(one: StateTable, now: float) -> Row:
    """One table of state in the list."""
    what = f"{one.variable} ({one.kind})" if one.variable else one.store
    cells = (
        Cell(what, strong=not one.internal, muted=one.internal, hint="Only how Spark lays a join out" if one.internal else ""),
        Cell(one.query),
        Cell(f"{one.name or 'operator'} · {one.operator}"),
        number(one.operator_rows, formats.count),
        number(one.partitions, formats.count),
        number(one.bytes, formats.size),
        number(one.reading.total if one.reading else None, formats.count),
        moment(one.reading.read_ms if one.reading else None, now),
    )
    return Row(one.title, cells)


def _open(savepoint: Savepoint, one: StateTable) -> None:
    navigation.go("state", savepoint=savepoint.id, query=one.query, operator=str(one.operator), store=one.store, variable=one.variable)


def _take(name: str) -> None:
    if taken := states.take(name):
        navigation.go("state", savepoint=taken)


def _none(name: str) -> None:
    with empty_state("No savepoint to look into", NONE, key="job_state"):
        if st.button("Take a savepoint", type="primary", icon=":material/bookmark_add:", key="state_newest"):
            _take(name)
        command(f"python -m pipelines savepoint {name}")
