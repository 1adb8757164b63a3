"""The metrics of A and B, laid over each other at the same event time."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components.panel import panel
from dashboard.drawing.comparisons import MEASURES, overlay
from dashboard.views.experiments.reading import Pair
from dashboard.widgets import section
from pipelines.verbs.jobs import ShowEventSeries

SHOWN = ("latency", "throughput", "batch_rows", "lag", "late", "state_rows")
COLUMNS = 3
POINTS = 400


def draw(pair: Pair) -> None:
    """A grid of panels that share their crosshair and zoom with the charts of the outputs."""
    section("Metrics over event time", "the same events, whenever each job got to them")
    series = [session.workspace().ask(ShowEventSeries(job, points=POINTS)).columns for job in (pair.a, pair.b)]
    for begin in range(0, len(SHOWN), COLUMNS):
        for name, cell in zip(SHOWN[begin : begin + COLUMNS], st.columns(COLUMNS, gap="small"), strict=False):
            with cell:
                panel(overlay(MEASURES[name], ("A", "B"), series), key=f"overlay_{name}", group="event_time")
