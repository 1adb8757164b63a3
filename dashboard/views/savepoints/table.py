"""The table of savepoints: sorted by column, selected by row."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.components.frames import save_buttons
from dashboard.trust import TONES
from dashboard.views.savepoints.filters import past
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.space import SavepointSpace
from pipelines.words.savepoints import FREES, FULL, ORIGINS, SHARED, SIZE_HINTS
from pipelines.words.trust import best

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

ROW_PX = 36
MOST_ROWS = 10
MOST_TONED = 200
PAST_STYLE = "color: #c2740a"
"""Readable on light and on dark: the table is drawn on a canvas, which no style sheet reaches."""


def savepoint_table(
    taken: Sequence[Savepoint], spaces: Mapping[SavepointId, SavepointSpace], chosen: Sequence[str], now_ms: float, *, key: str
) -> list[str]:
    """Draws the table and returns the ids that are selected in it: by their boxes, or by a click on any cell of one row."""
    ids: list[str] = [savepoint.id for savepoint in taken]
    rows = frame(taken, spaces)
    event = st.dataframe(
        toned(rows, [past(savepoint, now_ms) for savepoint in taken]),
        key=f"{key}_{_revision(key, ids, chosen)}",
        hide_index=True,
        column_config=_columns(),
        column_order=list(_columns()),
        on_select="rerun",
        selection_mode=["multi-row", "single-cell"],
        selection_default={"selection": {"rows": [ids.index(name) for name in chosen if name in ids]}},
        row_height=ROW_PX,
        height="content" if len(ids) <= MOST_ROWS else (MOST_ROWS + 1) * ROW_PX,
        placeholder="–",
        alt="Savepoints, newest first",
    )
    save_buttons(rows.assign(note=[savepoint.note for savepoint in taken]), name="savepoints", key=key)
    picked = _picked(event["selection"], ids)
    st.session_state[f"{key}_picked"] = picked
    return picked


def _picked(selection: Any, ids: Sequence[str]) -> list[str]:
    rows = selection["rows"] or [row for row, _ in selection["cells"]]
    return [ids[row] for row in rows if row < len(ids)]


def _revision(key: str, ids: Sequence[str], chosen: Sequence[str]) -> str:
    """Another one where the rows change or the selection comes from elsewhere: rows are selected by place, so the table begins anew."""
    if list(chosen) != st.session_state.get(f"{key}_picked", []):
        st.session_state[f"{key}_seed"] = list(chosen)
        st.session_state[f"{key}_picked"] = list(chosen)
    seed = st.session_state.get(f"{key}_seed", [])
    return hashlib.sha256("\n".join([*ids, "", *seed]).encode()).hexdigest()[:10]


def frame(taken: Sequence[Savepoint], own: Mapping[SavepointId, SavepointSpace]) -> pd.DataFrame:
    """One row for each savepoint; numbers stay numbers, times stay times."""
    return pd.DataFrame(
        {
            "id": [savepoint.id for savepoint in taken],
            "job": [savepoint.job for savepoint in taken],
            "label": [savepoint.label for savepoint in taken],
            "batch": [savepoint.batch for savepoint in taken],
            "watermark": [moment(savepoint.queries[0].watermark_ms) for savepoint in taken],
            "taken": [moment(savepoint.created_ms) for savepoint in taken],
            "size": [own[savepoint.id].bytes if savepoint.id in own else savepoint.bytes for savepoint in taken],
            "frees": pd.array([own[savepoint.id].frees_bytes if savepoint.id in own else None for savepoint in taken], dtype="Int64"),
            "shared": pd.array([own[savepoint.id].shared_bytes if savepoint.id in own else None for savepoint in taken], dtype="Int64"),
            "trust": [[best(savepoint)] for savepoint in taken],
            "origin": [ORIGINS[savepoint.reason] for savepoint in taken],
            "until": pd.Series([moment(savepoint.best_before_ms) for savepoint in taken], dtype="datetime64[ms, UTC]"),
            "note": ["≡" if savepoint.note else "" for savepoint in taken],
        }
    )


def toned(rows: pd.DataFrame, over: Sequence[bool]) -> Styler | pd.DataFrame:
    """Past dates in orange. A style is computed for every cell, so a long table has none; the filter finds the dates there."""
    if not any(over) or len(rows) > MOST_TONED:
        return rows
    return rows.style.apply(lambda column: [PAST_STYLE if is_over else "" for is_over in over], subset=["until"])


def moment(at_ms: int | None) -> datetime | None:
    """A time for a table's cell; None where there is none."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC) if at_ms else None


def _columns() -> dict[str, Any]:
    make, zone = st.column_config, str(session.zone())
    return {
        "id": make.TextColumn("Savepoint", width=150),
        "job": make.TextColumn("Job", width=140),
        "label": make.TextColumn("Label", width=165),
        "note": make.TextColumn("Note", width=48, help="≡: somebody wrote a note; select it to read it"),
        "batch": make.NumberColumn("Batch", format="localized", width=60),
        "taken": make.DatetimeColumn("Taken", format="distance", timezone=zone, width=118),
        "origin": make.TextColumn("Origin", width=122),
        "until": make.DatetimeColumn(
            "Best before",
            format="distance",
            timezone=zone,
            width=100,
            help="After this date it may be disposed of; nothing does it by itself",
        ),
        "trust": make.MultiselectColumn("Trust", options=list(TONES), color=list(TONES.values()), width=92),
        "size": make.NumberColumn(FULL, format="bytes", width=78, help=SIZE_HINTS[FULL]),
        "frees": make.NumberColumn(FREES, format="bytes", width=75, help=SIZE_HINTS[FREES]),
        "shared": make.NumberColumn(SHARED, format="bytes", width=80, help=SIZE_HINTS[SHARED]),
        "watermark": make.DatetimeColumn("Watermark", format="MMM D, HH:mm:ss", timezone=zone, width=130),
    }
