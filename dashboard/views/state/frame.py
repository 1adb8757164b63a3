"""An answer about state as a table: numbers stay numbers, moments are moments, what is nested is JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.components.frames import save_buttons
from pipelines.domain.bounds import LATEST_MS
from pipelines.domain.states import MOMENT, StateColumn, StateRows
from pipelines.words import states as words

ROW_PX = 35
MOST_ROWS = 12
EXACT = 2**53
"""From here on a browser's numbers are not exact: such a value is shown as text."""


def show(answer: StateRows, *, key: str, label: str) -> None:
    """Draws the rows, as high as they are up to a dozen, with the way to take them along."""
    rows = frame(answer)
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        column_config={column.name: _column(column, rows[column.name]) for column in answer.columns},
        row_height=ROW_PX,
        height="content" if len(answer.rows) <= MOST_ROWS else (MOST_ROWS + 1) * ROW_PX,
        placeholder="–",
        alt=label,
    )
    save_buttons(rows, name=key, key=key)


def frame(answer: StateRows) -> pd.DataFrame:
    """The rows of the answer as a data frame, a column for each of its columns."""
    return pd.DataFrame({column.name: _values([row[at] for row in answer.rows], column) for at, column in enumerate(answer.columns)})


def _values(values: Sequence[Any], column: StateColumn) -> list[Any]:
    """Moments that a browser has, which are of milliseconds; other times as text."""
    if column.kind != "time":
        return [_value(value, column) for value in values]
    if column.type == MOMENT and all(value is None or (value == int(value) and 0 <= value <= LATEST_MS) for value in values):
        return [None if value is None else datetime.fromtimestamp(value / 1_000, UTC) for value in values]
    return [None if value is None else words.moment(value, column, session.zone()) for value in values]


def _value(value: Any, column: StateColumn) -> Any:
    if value is None:
        return None
    if column.kind == "nested":
        return json.dumps(value, ensure_ascii=False)
    return str(value) if isinstance(value, int) and abs(value) >= EXACT else value


def _column(column: StateColumn, values: pd.Series[Any]) -> Any:
    make = st.column_config
    if column.kind == "time" and isinstance(values.dtype, pd.DatetimeTZDtype):
        fraction = ".SSS" if (values.dt.microsecond > 0).any() else ""
        return make.DatetimeColumn(column.name, format=f"YYYY-MM-DD HH:mm:ss{fraction}", timezone=str(session.zone()), help=column.type)
    if column.kind == "number" and not column.name.endswith("partition_id"):
        return make.NumberColumn(column.name, format="localized", help=column.type)
    return make.Column(column.name, help=column.type)
