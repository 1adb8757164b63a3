"""The metrics of A and B, laid over each other at the same event time."""

from __future__ import annotations

from dashboard import session
from dashboard.components.panel import folded_charts
from dashboard.drawing.comparisons import MEASURES, overlay
from dashboard.views.experiments.shares import Pair
from dashboard.widgets import section
from pipelines.verbs.jobs import ShowEventSeries

SHOWN = ("latency", "throughput", "batch_rows", "lag", "late", "state_rows")
POINTS = 400


def draw(pair: Pair) -> None:
    """A grid of panels that share their crosshair and zoom with the charts of the outputs."""
    section("Metrics over event time", "the same events, whenever each job got to them")
    series = [session.workspace().ask(ShowEventSeries(job, points=POINTS)).columns for job in (pair.a, pair.b)]
    folded_charts({f"overlay_{name}": overlay(MEASURES[name], ("A", "B"), series) for name in SHOWN}, group="event_time")
