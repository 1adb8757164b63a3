"""A query's plan as a graph whose boxes can be clicked: all that Spark says of an operator stands beside it then."""

from __future__ import annotations

import streamlit as st

from dashboard.drawing.plan_graph import as_json, picture
from dashboard.served import asset_url, module_loader
from pipelines.domain.plans import QueryPlan
from pipelines.words import formats

# Streamlit takes text of a single line for a path; hence the comment.
_STYLE = f"""/* The plan's look. */
@import url("{asset_url("plan.css")}");
"""
_mount = st.components.v2.component("tidemark_plan", js=module_loader("plan.js"), css=_STYLE, isolate_styles=False)
HINT = "Click an operator: its metrics in this batch, and all that Spark says of it, stand here."


def plan_graph(plan: QueryPlan, *, key: str, sink: str, sink_path: str) -> None:
    """Draws `plan`; what is chosen in it survives every refresh."""
    label = f"Plan of query {plan.query}: {formats.plural(len(plan.nodes), 'operator')}, from its sources down to its sink"
    data = {**as_json(picture(plan, sink=sink, sink_path=sink_path)), "name": key, "label": label, "hint": HINT}
    _mount(data=data, key=key)
