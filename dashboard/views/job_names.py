"""What is wrong with the name that is typed for a job, by the engine's own rule, before anything is begun with it."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

import streamlit as st

from pipelines.domain.errors import Invalid
from pipelines.domain.ids import job_name


def refused(name: str, taken: Collection[str]) -> str:
    """Why no job can be called so; empty where one can, or nothing is typed yet."""
    if not name:
        return ""
    try:
        job_name(name)
    except Invalid as error:
        return f"{error.message}. {error.hint}"
    return f"A job {name} exists. Choose another name." if name in taken else ""


def check(name: str, taken: Collection[str]) -> None:
    """Says so below the field."""
    if why_not := refused(name, taken):
        st.html(f'<p class="tm-error" role="alert">{escape(why_not)}</p>')
