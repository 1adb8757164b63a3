"""Rows of a data frame as files to take along, made when somebody asks for them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import downloads

if TYPE_CHECKING:
    import pandas as pd

NAMES = {"csv": "CSV", "parquet": "Parquet"}


def save_buttons(frame: pd.DataFrame, *, name: str, key: str) -> None:
    """Two small buttons at the right, for below the table that shows `frame`; the file is called `name`."""
    with st.container(horizontal=True, horizontal_alignment="right", key=f"save_{key}"):
        for kind, (_, media_type) in downloads.WRITERS.items():
            st.download_button(
                NAMES[kind],
                partial(_written, frame, kind),
                file_name=f"{name}.{kind}",
                mime=media_type,
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
                key=f"save_{key}_{kind}",
            )


def _written(frame: pd.DataFrame, kind: str) -> bytes:
    return downloads.WRITERS[kind][0](downloads.columns_of_frame(frame))
