"""A heat map whose cells can be clicked, drawn on a canvas: some hundred partitions by a hundred moments are one element."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import streamlit as st

from dashboard.drawing.heat import HeatMap
from dashboard.served import asset_url, module_loader
from pipelines.words import formats

# Streamlit takes text of a single line for a path; hence the comment.
_STYLE = f"""/* The map's look. */
@import url("{asset_url("heat.css")}");
"""
_mount = st.components.v2.component("tidemark_heat", js=module_loader("heat.js"), css=_STYLE, isolate_styles=False)


def heat(drawn: HeatMap, zone: tzinfo, *, key: str) -> tuple[str, int] | None:
    """Draws the map; once after a click it returns the column's id and the partition."""
    data = {
        "name": key,
        "title": drawn.title,
        "hint": drawn.hint,
        "words": drawn.words,
        "skewed": drawn.skewed,
        "unit": "rows" if drawn.measure == "rows" else "bytes",
        "empty": drawn.empty,
        "top": drawn.top,
        "most": drawn.shown(drawn.top),
        "partitions": drawn.partitions,
        "columns": [_column(column.id, column.batch, column.at_ms, column.cells, zone) for column in drawn.columns],
    }
    result = _mount(data=data, key=key, on_cell_change=_ignore)
    cell = getattr(result, "cell", None)
    return (str(cell["column"]), int(cell["partition"])) if cell else None


def _column(column: str, batch: int, at_ms: int, cells: tuple[int, ...], zone: tzinfo) -> dict[str, Any]:
    return {"id": column, "batch": batch, "time": formats.clock(at_ms, zone), "cells": list(cells)}


def _ignore() -> None:
    """A trigger needs a callback for its value to reach the page."""
