"""One key of the job's state as of its newest committed batch: typed, looked up by Spark in the one partition that keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import permitted, session
from dashboard.components import frames
from dashboard.views import changes, operations
from dashboard.views.commands import commands
from dashboard.widgets import errors_shown, section
from pipelines.domain.access import Role
from pipelines.domain.errors import Invalid
from pipelines.domain.operations import Operation
from pipelines.domain.state_keys import KeyRows
from pipelines.domain.states import StateTable
from pipelines.verbs.state import QueryState
from pipelines.verbs.state_key import LookUpKey
from pipelines.words import formats, operators
from pipelines.words import state_keys as words

EXAMPLE = "COLUMN=VALUE"
HELP = (
    "Each column of the key as COLUMN=VALUE, one a line, or COLUMN alone for null; of a window window.start and window.end. Times as "
    "2027-01-15T08:00:00Z, bytes in base64, arrays in JSON."
)
SINCE = "Also which batches after this one changed the key, and to what, as far as the state store keeps its changes"


def draw(name: str, savepoint: str, tables: Sequence[StateTable], now: float) -> None:
    """The form, filled in as the address says, and the rows of the key that was looked up last; `tables` are those of the newest
    `savepoint`."""
    plain = [table for table in tables if not table.internal]
    if not plain:
        return
    section("One key, now", "as of the newest committed batch; only the key's partition is read, and the job does not notice")
    asking = f"key {name}"
    with st.container(horizontal=True, vertical_alignment="bottom", key="state_key"):
        titles = [table.title for table in plain]
        labels = [_said(table) for table in plain]
        chosen = _named(titles)
        at = st.selectbox("Table of state", range(len(plain)), chosen, labels.__getitem__, key=f"key_table_{name}", width=340)
        told, example = session.selected("key"), _example(savepoint, plain[at])
        typed = st.text_area("Key", told, key=f"key_text_{name}", placeholder=example, help=HELP, height=88, width=420)
        first = int(text) if (text := session.selected("since")).isdecimal() else None
        since = st.number_input("Changes since batch", min_value=0, value=first, step=1, key=f"key_since_{name}", help=SINCE, width=170)
        begins = permitted.button("Look up", Role.OPERATOR, icon=":material/search:", key="key_look_up")
    with errors_shown():
        if begins:
            change = replace(_change(name, plain[at], typed or ""), since=since)
            st.session_state[asking] = change, changes.ask(asking, change, f"A key of {name} was looked up")
        if asking in st.session_state:
            _answer(asking, now)


def _named(titles: Sequence[str]) -> int:
    """The place of the table that the address names; the first where it names none that is there."""
    title = " / ".join(filter(None, (session.selected(part) for part in ("query", "operator", "store", "variable"))))
    return titles.index(title) if title in titles else 0


def _said(table: StateTable) -> str:
    """`counts · aggregation 0 · default`, as the page of state names it."""
    return f"{table.query} · {operators.kind(table.name)} {table.operator} · {table.variable or table.store}"


def _example(savepoint: str, table: StateTable) -> str:
    """A key that was read of the table, as it is to be typed; what a line looks like where none was."""
    if table.reading is None or not table.reading.rows:
        return EXAMPLE
    answer = session.shared(QueryState(savepoint, **table.names, limit=1), age_ms=60_000)
    return next((key for row in answer.rows if (key := words.typed(answer.columns, row))), EXAMPLE)


def _change(name: str, table: StateTable, typed: str) -> LookUpKey:
    """Invalid (`state.key`) for a line without a column."""
    pairs = dict[str, str | None]()
    for line in filter(None, (line.strip() for line in typed.splitlines())):
        column, equals, value = line.partition("=")
        if not column.strip():
            raise Invalid("state.key", f"{line!r} is no column with a value", f"Write {EXAMPLE}, one column a line.")
        pairs[column.strip()] = value.strip() if equals else None
    return LookUpKey(name, pairs, query=table.query, operator=table.operator, store=table.store, variable=table.variable)


def _answer(asking: str, now: float) -> None:
    change, key_rows = st.session_state[asking]
    if key_rows is None and changes.is_asked(asking):
        if (key_rows := changes.answered(asking)) is None:
            operations.under_way(lambda operation: _looks_up(operation, change.job), key="key")
            return
        st.session_state[asking] = change, key_rows
    if key_rows is not None:
        _show_rows(change, key_rows, now)


def _looks_up(operation: Operation, job: str) -> bool:
    return operation.kind == "look-up" and operation.job == job


def _show_rows(change: LookUpKey, answer: KeyRows, now: float) -> None:
    where = f"partition {answer.partition}" if answer.partition is not None else "all partitions"
    st.caption(
        f"{formats.plural(len(answer.rows), 'row')} at batch {answer.batch:,} ({formats.ago(answer.batch_ms, now)}), in {where}, "
        f"read in {formats.duration(answer.took_ms)}"
    )
    if answer.rows:
        frames.shown(pd.DataFrame([_flat(row) for row in answer.rows]), name="key", key="key_rows", alt="Rows of the key")
    if answer.history is not None:
        st.caption(words.history(answer.history))
    if answer.history is not None and answer.history.changes:
        lines = [{"batch": key_change.batch, "change": key_change.change, **_flat(key_change.row)} for key_change in answer.history.changes]
        frames.shown(pd.DataFrame(lines), name="key_changes", key="key_changes", alt="Batches that changed the key")
    commands([change], key="key_command")


def _flat(row: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """A row with a column for each field; a list as JSON."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{above}{name}.")
        else:
            flat[f"{above}{name}"] = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
    return flat
