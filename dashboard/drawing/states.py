"""A reading of state as charts: rows by partition, rows by window. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any

import numpy as np

from dashboard.drawing.figures import BLUE, GREEN, ORANGE, VIOLET, Chart, LegendEntry, encoded
from pipelines.words import formats

SKEWED = 2.0
"""A partition with so many times the average's rows stands out."""
HEIGHT = 150


def skew(partitions: Mapping[int, int]) -> float | None:
    """How many times the average's rows the fullest partition has; None without rows."""
    total = sum(partitions.values())
    return max(partitions.values()) * len(partitions) / total if total else None


def by_partition(partitions: Mapping[int, int]) -> Chart:
    """A bar a partition; those that hold far more than the average in another colour."""
    times = skew(partitions)
    if times is None:
        return Chart("Rows by partition", empty="The table is empty", height=HEIGHT)
    average = sum(partitions.values()) / len(partitions)
    colors = [ORANGE if rows >= SKEWED * average else BLUE for rows in partitions.values()]
    x, y = column(list(partitions)), column(list(partitions.values()))
    trace = {
        "type": "bar", "name": "rows", "x": encoded(x), "y": encoded(y), "color": BLUE, "marker": {"color": colors}, "opacity": 0.85,
        "hovertemplate": "%{y:,.0f} rows",
    }  # fmt: skip
    fullest, usual = formats.compact(max(partitions.values())), formats.compact(average)
    legend = (LegendEntry("fullest", fullest, max(colors)), LegendEntry("average", usual, GREEN, "dash"))
    summary = f"Rows by partition: {len(partitions)} partitions, the fullest has {times:.1f} times the average."
    layout = {
        "xaxis": numbered(partitions),
        "yaxis": {"tickformat": "~s", "nticks": 4},
        "bargap": 0.25,
        "levels": [{"y": average, "color": GREEN}],
    }
    return Chart("Rows by partition", (trace,), layout, legend, summary=summary, height=HEIGHT)


def by_window(starts: Sequence[float], rows: Sequence[int], name: str, *, more: bool) -> Chart:
    """A bar a window, where it starts; `more`: there are older ones."""
    title = f"Rows by {name}"
    if not len(starts):
        return Chart(title, empty="No window is open", height=HEIGHT)
    trace = {
        "type": "bar", "name": "rows", "x": encoded(column(starts)), "y": encoded(column(rows)), "color": VIOLET, "opacity": 0.85,
        "hovertemplate": "%{y:,.0f} rows",
    }  # fmt: skip
    legend = (LegendEntry(f"the newest {len(starts):,}" if more else formats.plural(len(starts), "window"), color=VIOLET),)
    layout = {"yaxis": {"tickformat": "~s", "nticks": 4}, "bargap": 0.25, "span": span(starts)}
    summary = f"{title}: {len(starts):,} windows, {sum(rows):,} rows."
    return Chart(title, (trace,), layout, legend, summary=summary, height=HEIGHT)


def numbered(partitions: Sized) -> dict[str, Any]:
    """An axis of partitions by their numbers."""
    return {"type": "linear", "tickformat": "d", "tickformatstops": [], "hoverformat": "d", "dtick": max(1, round(len(partitions) / 16))}


def span(starts: Sequence[float]) -> list[float]:
    """The axis from half a window before the first to half a window after the last."""
    first, last = min(starts), max(starts)
    half = (last - first) / max(len(starts) - 1, 1) * 0.75 or 60_000.0
    return [first - half, last + half]


def column(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Numbers as a trace has them."""
    return np.asarray(values, dtype=np.float64)
