"""Rows of a data frame as files to take along."""

from __future__ import annotations

import pickle
from datetime import timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import streamlit as st

from dashboard import downloads, session

NAMES = {"csv": "CSV", "parquet": "Parquet"}
KEPT = 32
"""Files that are kept for the next refresh, of all browsers together."""


def shown(frame: pd.DataFrame, *, name: str, key: str, **options: Any) -> None:
    """Draws `frame` with the way to take it along; `options` are `st.dataframe`'s."""
    st.dataframe(frame, hide_index=True, **options)
    save_buttons(frame, name=name, key=key)


def save_buttons(frame: pd.DataFrame, *, name: str, key: str) -> None:
    """Two small buttons at the right, for below the table that shows `frame`; the file is called `name`."""
    with st.container(horizontal=True, horizontal_alignment="right", key=f"save_{key}"):
        for kind, (_, media_type) in downloads.WRITERS.items():
            st.download_button(
                NAMES[kind],
                _written(frame, kind, session.zone()),
                file_name=f"{name}.{kind}",
                mime=media_type,
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
                key=f"save_{key}_{kind}",
            )


@st.cache_data(max_entries=KEPT, show_spinner=False, hash_funcs={pd.DataFrame: pickle.dumps, ZoneInfo: str, timezone: str})
def _written(frame: pd.DataFrame, kind: str, zone: tzinfo) -> bytes:
    """Made once for the same rows. Streamlit would make it at the click too, but then a refresh meanwhile makes the click do nothing.
    Its own way to tell frames apart knows no lists in them, and says so in the server's log each time."""
    return downloads.WRITERS[kind][0](downloads.columns_of_frame(frame, zone))
