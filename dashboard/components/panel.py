"""A chart in its panel, updated in place (`Plotly.react`): zoom and hover survive every refresh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import streamlit as st

from dashboard.drawing.figures import Chart, TimeMark
from dashboard.served import PLOTLY, asset_url, module_loader

# Streamlit takes text of a single line for a path; hence the comment.
_STYLE = f"""/* The panel's look. */
@import url("{asset_url("panel.css")}");
@import url("{asset_url("saving.css")}");
"""
_mount = st.components.v2.component("tidemark_panel", js=module_loader("panel.js"), css=_STYLE, isolate_styles=False)


def panel(
    chart: Chart,
    *,
    key: str,
    group: str = "",
    on_click: Callable[[], None] | None = None,
    clickable: bool = False,
    border: bool = True,
    height: int | None = None,
    config: dict[str, Any] | None = None,
) -> str | None:
    """Draws `chart`; panels with one `group` share crosshair and zoom.

    `key` is the panel's identity across refreshes. With `clickable` (or `on_click`) a click on a mark reruns the page and is
    returned once as the mark's id.
    """
    data = _payload(chart, key, group, clickable or on_click is not None, height, config)
    with st.container(border=border, key=f"panel_{key}"):
        result = _mount(data=data, key=key, on_click_change=on_click or _ignore)
    return getattr(result, "click", None)


def _payload(chart: Chart, key: str, group: str, clickable: bool, height: int | None, config: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "name": key,
        "title": chart.title,
        "traces": list(chart.traces),
        "layout": dict(chart.layout),
        "legend": [asdict(entry) for entry in chart.legend],
        "marks": [_mark(mark) for mark in chart.marks],
        "empty": chart.empty,
        "summary": chart.summary,
        "height": height or chart.height,
        "group": group,
        "clickable": clickable,
        "config": config or {},
        "plotly": asset_url(PLOTLY),
    }


def _mark(mark: TimeMark) -> dict[str, Any]:
    return {"at": mark.at_ms, "kind": mark.kind, "text": mark.text, "id": mark.id}


def _ignore() -> None:
    """A trigger needs a callback for its value to reach the page."""
