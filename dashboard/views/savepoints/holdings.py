"""What the sources of a savepoint still hold: as a fact of its card, as a cell of the table, and asked anew."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import once
from dashboard.components.table import Cell
from dashboard.views.savepoints import actions
from dashboard.widgets import chip
from pipelines.domain.holdings import Usable, ends_ms
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.holdings import AskHoldings
from pipelines.words import holdings as words


def ask(savepoint: Savepoint) -> None:
    """Asks its sources now."""
    if actions.each([savepoint], lambda target: once.do(AskHoldings(target.id))):
        st.rerun()


def fact(savepoint: Savepoint, now_ms: float) -> str:
    """Whether it can be used; a lack with its reason, everything else with it on hover."""
    holdings = savepoint.holdings
    text, hint = words.usable(savepoint, now_ms), words.hint(holdings, now_ms)
    if savepoint.damaged_files:
        return chip(text, "red")
    if holdings is not None and holdings.usable is Usable.NO:
        return f"{chip(text, 'orange')} {escape(hint)}"
    return f'<span title="{escape(hint)}">{escape(text)}</span>'


def cell(savepoint: Savepoint, now_ms: float) -> Cell:
    """The same for the table."""
    is_over = words.is_over(savepoint.holdings, now_ms)
    text, hint = words.usable(savepoint, now_ms), words.hint(savepoint.holdings, now_ms)
    return Cell(text, sort=ends_ms(savepoint.holdings, None), tone="orange" if is_over else None, muted=not is_over, hint=hint)
