"""The input rows of the batch that a job failed at, read by Spark when they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import permitted
from dashboard.components import frames
from dashboard.views import changes, operations
from dashboard.views.commands import commands
from dashboard.widgets import errors_shown
from pipelines.domain.access import Role
from pipelines.domain.ids import RunId
from pipelines.domain.input_rows import InputRows, SourceRows
from pipelines.domain.operations import Operation
from pipelines.verbs.input_rows import ReadInputRows
from pipelines.words import formats
from pipelines.words import input_rows as words


def button() -> bool:
    """Whether the rows are asked for."""
    return permitted.button("Show input rows", Role.OPERATOR, icon=":material/table_rows:", key="input_rows_read")


def draw(name: str, run: RunId, *, begins: bool) -> None:
    """The rows of the run's batch that were read last, or how far their reading is; nothing where nobody has asked for them."""
    asking, change = f"input rows {name} {run}", ReadInputRows(name)
    with errors_shown():
        if begins:
            st.session_state[asking] = changes.ask(asking, change, f"The input rows of {name} were read")
        if asking in st.session_state:
            _answer(asking, change)


def _answer(asking: str, change: ReadInputRows) -> None:
    read = st.session_state[asking]
    if read is None and changes.is_asked(asking):
        if (read := changes.answered(asking)) is None:
            operations.under_way(lambda operation: _reads(operation, change.job), key="input_rows")
            return
        st.session_state[asking] = read
    if read is not None:
        _read(change, read)


def _reads(operation: Operation, job: str) -> bool:
    return operation.kind == "input-rows" and operation.job == job


def _read(change: ReadInputRows, read: InputRows) -> None:
    st.caption(f"Input rows of batch {read.batch:,} of {read.query}, as its sources give them, read in {formats.duration(read.took_ms)}")
    for at, source in enumerate(read.sources):
        st.caption(f"**{source.source}**: {words.amount(source)}")
        if source.rows:
            frames.shown(_frame(source), name=f"input-{at}", key=f"input_rows_{at}", alt=f"Input rows of {source.source}")
    commands([change], key="input_rows_command")


def _frame(source: SourceRows) -> pd.DataFrame:
    return pd.DataFrame(source.rows, columns=_distinct([column.name for column in source.columns]))


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that a table can have: the second of a name has its place behind it."""
    seen = Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return told
