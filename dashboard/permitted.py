"""Buttons of actions: disabled where the role of who looks does not allow them, with the role that does on hover."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import session
from pipelines.domain.access import Role


def button(label: str, role: Role, **options: Any) -> bool:
    """Streamlit's button of an action that takes `role`, which is its declaration's. Whether it was pressed."""
    refused = session.refusal(role)
    return st.button(label, **{**options, **({"disabled": True, "help": refused} if refused else {})})
