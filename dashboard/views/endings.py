"""The end of a dialog that makes one change: its command to copy, then Cancel and the button that begins it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from dashboard import once, session
from dashboard.dialogs import answer
from dashboard.views.commands import Shown, folded
from dashboard.widgets import error_box, errors_shown
from pipelines.domain.errors import TidemarkError
from pipelines.verbs.verb import Change

P = TypeVar("P")


def planned(change: Change[Any, P]) -> P | None:
    """The plan, or None with its refusal shown."""
    try:
        return session.workspace().plan(change)
    except TidemarkError as error:
        error_box(error)
        return None


def ending(
    change: Change[Any, Any] | None,
    action: str,
    key: str,
    does: Callable[[Any], object] = once.do,
    *,
    shown: Shown | None = None,
    ready: bool = True,
    icon: str = "",
    help: str | None = None,
    danger: bool = False,
) -> None:
    """Begins `change` with `does` when it is agreed to, and closes the dialog; an error is shown in it. None, or not `ready`: it cannot be
    agreed to. `shown` is what its command says where that is not `change`."""
    if change is not None:
        folded([shown or change])
    if answer(action, key, icon=icon, disabled=change is None or not ready, help=help, danger=danger) and change is not None:
        with errors_shown():
            does(change)
            st.rerun()
