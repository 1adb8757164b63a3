"""A chart in its panel, updated in place (`Plotly.react`): zoom and hover survive every refresh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import streamlit as st

from dashboard import session
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
    clickable: bool = False,
    ranged: str = "",
    on_range: Callable[[str], None] | None = None,
    on_moment: Callable[[str], None] | None = None,
) -> str | None:
    """Draws `chart`; panels with one `group` share crosshair and zoom.

    `key` is the panel's identity across refreshes. With `clickable` a click on a mark reruns the page and is
    returned once as the mark's id. `on_range` is told which range somebody brushed (`FROM_TO` in epoch ms, empty for all again),
    `on_moment` which point was clicked (epoch ms); `ranged` is the range that the chart is of where somebody brushed it before.
    """
    data = _payload(chart, key, group, clickable)
    data |= {"brush": on_range is not None, "ranged": ranged, "moments": on_moment is not None}
    heard: dict[str, Any] = {
        f"on_{name}_change": partial(_tell, key, name, act) for name, act in (("range", on_range), ("moment", on_moment)) if act
    }
    with st.container(border=True, key=f"panel_{key}"):
        result = _mount(data=data, key=key, on_click_change=_ignore, **heard)
    return getattr(result, "click", None)


def _tell(key: str, name: str, act: Callable[[str], None]) -> None:
    value = getattr(st.session_state[key], name, None)
    if value is not None:
        act(str(value))


def folded_charts(charts: Mapping[str, Chart]) -> None:
    """Panels beside each other, three in a row; those without anything to draw are named in one line instead."""
    drawn = {key: chart for key, chart in charts.items() if chart.traces}
    if drawn:
        grid = st.grid(min(3, len(drawn)), gap=12, min_column_width=340)
        for key, chart in drawn.items():
            with grid.cell():
                panel(chart, key=key, group="event_time")
    folded = [chart for chart in charts.values() if not chart.traces]
    if folded:
        names = ", ".join(chart.title for chart in folded)
        st.caption(f"Nothing to draw yet: {names}.")


def _payload(chart: Chart, key: str, group: str, clickable: bool) -> dict[str, Any]:
    return {
        "name": key,
        "title": chart.title,
        "traces": list(chart.traces),
        "layout": dict(chart.layout),
        "legend": [asdict(entry) for entry in chart.legend],
        "marks": [_mark(mark) for mark in chart.marks],
        "empty": chart.empty,
        "summary": chart.summary,
        "zone": str(session.zone()),
        "height": chart.height,
        "group": group,
        "clickable": clickable,
        "plotly": asset_url(PLOTLY),
    }


def _mark(mark: TimeMark) -> dict[str, Any]:
    return {"at": mark.at_ms, "kind": mark.kind, "text": mark.text, "id": mark.id, "count": mark.count}


def _ignore() -> None:
    """A trigger needs a callback for its value to reach the page."""
