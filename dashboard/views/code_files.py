"""The files of a version: which of them is shown, the script or one beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import streamlit as st

from dashboard import address, session
from pipelines.domain.files import text


def choose(script: str, files: Collection[str], key: str) -> str:
    """The path of the file beside the script that the address names, empty for the script; a choice where there are several files."""
    options = ["", *sorted(files)]
    address.check_among("file", options, "file")
    if len(options) == 1:
        return ""
    selected = session.selected("file")
    path = st.selectbox(
        "File",
        options,
        index=options.index(selected) if selected in options else 0,
        format_func=lambda path: path or script,
        key=key,
        label_visibility="collapsed",
        width=280,
    )
    session.select(file=path or "")
    return path or ""


def texts(files: Mapping[str, str]) -> dict[str, str]:
    """The files that can be shown: path -> text."""
    return {path: shown for path, packed in files.items() if (shown := text(packed)) is not None}
