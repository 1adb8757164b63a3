"""The metrics of A and B, laid over each other at the same event time."""

from __future__ import annotations

from dashboard import session
from dashboard.components.panel import folded_charts
from dashboard.drawing.comparisons import MEASURES, overlay
from dashboard.drawing.observed import observed_overlays
from dashboard.views.experiments.shares import Pair
from dashboard.widgets import section
from pipelines.verbs.jobs import ShowEventSeries

SHOWN = ("latency", "throughput", "batch_rows", "lag", "late", "state_rows")
POINTS = 400
SIDES = ("A", "B")


def draw(pair: Pair) -> None:
    """A grid of panels that share their crosshair and zoom with the charts of the outputs."""
    section("Metrics over event time", "the same events, whenever each job got to them")
    series = [session.workspace().ask(ShowEventSeries(job, points=POINTS)) for job in (pair.a, pair.b)]
    columns = [side.columns for side in series]
    charts = {name: overlay(MEASURES[name], SIDES, columns) for name in SHOWN} | observed_overlays(SIDES, series)
    folded_charts({f"overlay_{name}": chart for name, chart in charts.items()})
