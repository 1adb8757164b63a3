"""An answer about state as a table: numbers stay numbers, times are times, what is nested is JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.components.frames import save_buttons
from pipelines.domain.bounds import LATEST_MS
from pipelines.domain.states import StateColumn, StateRows

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
        column_config={column.name: _column(column) for column in answer.columns},
        row_height=ROW_PX,
        height="content" if len(answer.rows) <= MOST_ROWS else (MOST_ROWS + 1) * ROW_PX,
        placeholder="–",
        alt=label,
    )
    save_buttons(rows, name=key, key=key)


def frame(answer: StateRows) -> pd.DataFrame:
    """The rows of the answer as a data frame, a column for each of its columns."""
    columns = {column.name: [_value(row[at], column) for row in answer.rows] for at, column in enumerate(answer.columns)}
    return pd.DataFrame(columns)


def _value(value: Any, column: StateColumn) -> Any:
    if value is None:
        return None
    if column.kind == "time":
        return datetime.fromtimestamp(value / 1_000, UTC) if 0 <= value <= LATEST_MS else f"{value:,} ms"
    if column.kind == "nested":
        return json.dumps(value, ensure_ascii=False)
    return str(value) if isinstance(value, int) and abs(value) >= EXACT else value


def _column(column: StateColumn) -> Any:
    make = st.column_config
    if column.kind == "time":
        return make.DatetimeColumn(column.name, format="YYYY-MM-DD HH:mm:ss", timezone=str(session.zone()), help=column.type)
    if column.kind == "number" and not column.name.endswith("partition_id"):
        return make.NumberColumn(column.name, format="localized", help=column.type)
    return make.Column(column.name, help=column.type)
