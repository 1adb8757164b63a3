"""A difference of state as charts: keys added, removed and changed by partition and by window, and how far columns drifted. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.drawing.figures import BLUE, GREEN, ORANGE, RED, Chart, LegendEntry, encoded
from dashboard.drawing.states import column, numbered, span
from pipelines.domain.state_differences import KeyChanges, StateDifference, TableDifference, WindowChanges

HEIGHT = 170
PARTS = (("added", GREEN), ("removed", RED), ("changed", ORANGE))
SAME = "No key differs"


def by_operator(difference: StateDifference) -> Chart:
    """A stacked bar for each table of state."""
    at = {index: table.changes for index, table in enumerate(difference.tables)}
    names = [table.title for table in difference.tables]
    axis = {"type": "linear", "tickmode": "array", "tickvals": list(at), "ticktext": names, "tickformatstops": []}
    return _stacked("Keys that differ, by operator", at, axis, "table")


def by_partition(partitions: Mapping[int, KeyChanges]) -> Chart:
    """A stacked bar for each partition in which a key differs."""
    return _stacked("Keys that differ, by partition", partitions, numbered(partitions), "partition")


def by_window(windows: Sequence[WindowChanges]) -> Chart:
    """A stacked bar where each window starts in event time."""
    return _stacked("Keys that differ, by event time", {window.start_ms: window.changes for window in windows}, {}, "window")


def by_column(table: TableDifference) -> Chart:
    """How many of the keys that both have differ in each column."""
    columns = [drift for drift in table.columns if drift.changed]
    both = table.same + table.changes.changed
    title = "Changed keys, by column"
    if not columns:
        return Chart(title, empty="No column differs", height=HEIGHT)
    axis = {"type": "linear", "tickmode": "array", "tickvals": list(range(len(columns))), "tickformatstops": []}
    named = {**axis, "ticktext": [drift.name.removeprefix("value.") for drift in columns]}
    trace = _bars("changed", BLUE, list(range(len(columns))), [drift.changed for drift in columns])
    summary = f"{title}: " + ", ".join(f"{drift.name} {drift.changed:,} of {both:,}" for drift in columns)
    legend = (LegendEntry("of keys on both sides", f"{both:,}", BLUE),)
    return Chart(title, (trace,), {"xaxis": named, "yaxis": _COUNTS, "bargap": 0.35}, legend, summary=f"{summary}.", height=HEIGHT)


_COUNTS = {"tickformat": "~s", "nticks": 4, "rangemode": "tozero"}


def _stacked(title: str, changes: Mapping[Any, KeyChanges], axis: Mapping[str, Any], what: str) -> Chart:
    total = {part: sum(getattr(counted, part) for counted in changes.values()) for part, _ in PARTS}
    if not any(total.values()):
        return Chart(title, empty=SAME, height=HEIGHT)
    traces = tuple(
        _bars(part, color, list(changes), [getattr(counted, part) for counted in changes.values()]) for part, color in PARTS if total[part]
    )
    legend = tuple(LegendEntry(part, f"{total[part]:,}", color) for part, color in PARTS)
    layout: dict[str, Any] = {"barmode": "stack", "bargap": 0.25, "yaxis": _COUNTS}
    if axis:
        layout["xaxis"] = dict(axis)
    else:
        layout["span"] = span(list(changes))
    counted = ", ".join(f"{total[part]:,} {part}" for part, _ in PARTS)
    words = f"{title}: {counted}, in {len(changes):,} {what}{'' if len(changes) == 1 else 's'}."
    return Chart(title, traces, layout, legend, summary=words, height=HEIGHT)


def _bars(name: str, color: str, x: Sequence[float], y: Sequence[int]) -> dict[str, Any]:
    return {
        "type": "bar", "name": name, "x": encoded(column(x)), "y": encoded(column(y)), "color": color, "opacity": 0.85,
        "hovertemplate": "%{y:,.0f} " + name,
    }  # fmt: skip
