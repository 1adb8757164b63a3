"""What a job observes of its batches (`df.observe`): of one batch as a list, and what has no chart."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard.drawing.observed import left_out
from dashboard.widgets import section
from pipelines.domain.experiments import Series
from pipelines.domain.observed import Observed
from pipelines.words import formats
from pipelines.words import observed as words

MOST_NAMED = 5


def of_batch(values: Sequence[Observed]) -> None:
    """Each value by its name, numbers and texts alike; nothing of a batch that says nothing."""
    if not values:
        return
    section("What it observed")
    rows = "".join(f"<div><dt>{escape(value.name)}</dt><dd>{escape(words.value(value))}</dd></div>" for value in values)
    st.html(f'<dl class="tm-facts">{rows}</dl>')


def without_chart(series: Series) -> None:
    """Says which numbers stand in no chart, and where they do."""
    names = left_out(series)
    if names:
        more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        many = formats.plural(len(names), "number")
        st.caption(f"{many} that the job observes have no chart, but stand with each batch: {', '.join(names[:MOST_NAMED])}{more}")
