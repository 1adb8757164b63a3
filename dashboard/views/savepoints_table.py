"""The table of savepoints: sorted by column, selected by row."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.widgets import Tone
from pipelines.domain.savepoints import Reason, Savepoint, Trust

REASONS = {Reason.MANUAL: "by hand", Reason.STOP: "stop", Reason.BEFORE_RESUME: "before resume"}
TRUSTS: dict[str, tuple[str, Tone]] = {
    Trust.COMPLETE: ("Every file is there with its size", "gray"),
    Trust.INTACT: ("Every checksum is right", "blue"),
    Trust.PROVED: ("Spark restored it and ran a batch", "green"),
    "damaged": ("The last verification found damaged files; it is not restored", "red"),
}
"""Badge -> what it says, its tone."""
_TONES = {"gray": "gray", "green": "green", "blue": "blue", "red": "red", "orange": "orange"}
ROW_PX = 36
MOST_ROWS = 10


def trust_of(savepoint: Savepoint) -> str:
    """The badge of a savepoint: how far it was checked, or that it is damaged."""
    return "damaged" if savepoint.damaged_files else str(savepoint.trust)


def savepoint_table(taken: Sequence[Savepoint], chosen: Sequence[str], *, key: str, with_job: bool = True) -> list[str]:
    """Draws the table and returns the ids that are selected in it: by their boxes, or by a click on any cell of one row."""
    ids = [one.id for one in taken]
    event = st.dataframe(
        frame(taken),
        key=f"{key}_{_revision(key, ids, chosen)}",
        hide_index=True,
        column_config=_columns(),
        column_order=[name for name in _columns() if with_job or name != "job"],
        on_select="rerun",
        selection_mode=["multi-row", "single-cell"],
        selection_default={"selection": {"rows": [ids.index(one) for one in chosen if one in ids]}},
        row_height=ROW_PX,
        height="content" if len(ids) <= MOST_ROWS else (MOST_ROWS + 1) * ROW_PX,
        placeholder="–",
        alt="Savepoints, newest first",
    )
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


def frame(taken: Sequence[Savepoint]) -> pd.DataFrame:
    """One row for each savepoint; numbers stay numbers, times stay times."""
    return pd.DataFrame(
        {
            "id": [one.id for one in taken],
            "job": [one.job for one in taken],
            "label": [one.label for one in taken],
            "batch": [one.batch for one in taken],
            "watermark": [moment(one.queries[0].watermark_ms) for one in taken],
            "taken": [moment(one.created_ms) for one in taken],
            "size": [one.bytes for one in taken],
            "new": [one.new_bytes for one in taken],
            "took": [one.took_ms for one in taken],
            "trust": [[trust_of(one)] for one in taken],
            "reason": [REASONS[one.reason] for one in taken],
        }
    )


def moment(at_ms: int | None) -> datetime | None:
    """A time for a table's cell; None where there is none."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC) if at_ms else None


def _columns() -> dict[str, Any]:
    make, zone = st.column_config, str(session.zone())
    return {
        "id": make.TextColumn("Savepoint", width=160),
        "job": make.TextColumn("Job", width=160),
        "label": make.TextColumn("Label", width=190),
        "batch": make.NumberColumn("Batch", format="localized", width=70),
        "watermark": make.DatetimeColumn("Watermark", format="MMM D, HH:mm:ss", timezone=zone, width=130),
        "taken": make.DatetimeColumn("Taken", format="distance", timezone=zone, width=120),
        "size": make.NumberColumn("Size", format="bytes", width=80),
        "new": make.NumberColumn("New bytes", format="bytes", width=90, help="What taking it added to the disk; the rest is shared"),
        "took": make.NumberColumn("Took", format="%.0f ms", width=80),
        "trust": make.MultiselectColumn("Trust", options=list(TRUSTS), color=[_TONES[tone] for _, tone in TRUSTS.values()], width=100),
        "reason": make.TextColumn("Reason", width=110),
    }
