"""The batches that Spark still keeps, as a chart: a dot each on an axis of clock or event time, savepoints as diamonds above. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from dashboard import formats
from dashboard.drawing.figures import BLUE, VIOLET, Chart, LegendEntry
from pipelines.domain.savepoints import QueryImage, RetainedBatch, Savepoint


class Axis(enum.StrEnum):
    """What runs to the right: when a batch was planned, or how far its watermark was."""

    CLOCK = "clock"
    EVENT = "event"


Place = Callable[[RetainedBatch], int]
PLACES: dict[Axis, Place] = {Axis.CLOCK: lambda one: one.timestamp_ms, Axis.EVENT: lambda one: one.watermark_ms}


def point_id(one: RetainedBatch) -> str:
    """What names a batch of the axis: `query:batch`."""
    return f"{one.query}:{one.batch}"


def has_event_time(kept: Sequence[RetainedBatch]) -> bool:
    """Whether any batch has a watermark."""
    return any(one.watermark_ms > 0 for one in kept)


def newest_until(kept: Sequence[RetainedBatch], axis: Axis, at_ms: int) -> RetainedBatch | None:
    """The newest batch at or before a moment on that axis; None where all are later."""
    place = PLACES[axis]
    before = [one for one in kept if place(one) <= at_ms and (axis is Axis.CLOCK or one.watermark_ms > 0)]
    return max(before, key=lambda one: (one.batch, one.timestamp_ms), default=None)


def of_batch(kept: Sequence[RetainedBatch], batch: int) -> RetainedBatch | None:
    """The batch of that number; of the first query that has it."""
    return next((one for one in kept if one.batch == batch), None)


def batches_chart(kept: Sequence[RetainedBatch], taken: Sequence[Savepoint], selected: str, axis: Axis = Axis.CLOCK) -> Chart:
    """Dots give `query:batch` when they are clicked, diamonds the savepoint's id. On the axis of event time batches of one watermark
    are one dot, which is the newest of them."""
    shown = kept if axis is Axis.CLOCK else [one for one in kept if one.watermark_ms > 0]
    queries = sorted({one.query for one in kept})
    rows = [[one for one in shown if one.query == query] for query in queries]
    traces = [_dots(own, row, selected, axis) for row, own in enumerate(rows) if own]
    within = _within(shown, taken, axis)
    if within:
        traces.append(_diamonds(within, len(queries), axis))
    return Chart(
        "Batches that Spark still keeps",
        tuple(traces),
        _layout(len(queries)),
        (LegendEntry("batch", f"{len(kept):,}", BLUE, "circle"), LegendEntry("savepoint", f"{len(within):,}", VIOLET, "diamond")),
        summary=_summary(kept, len(within), axis),
        height=64 + 34 * len(queries),
        empty="No batch has a watermark: this job has no event time.",
    )


def _summary(kept: Sequence[RetainedBatch], within: int, axis: Axis) -> str:
    by = "their watermarks, event time" if axis is Axis.EVENT else "the clock"
    numbers = formats.ranges(sorted({one.batch for one in kept}))
    return (
        f"{formats.plural(len(kept), 'batch', 'batches')} that Spark still keeps by {by}: {numbers}; "
        f"{formats.plural(within, 'savepoint')} among them."
    )


def _within(kept: Sequence[RetainedBatch], taken: Sequence[Savepoint], axis: Axis) -> list[Savepoint]:
    if not kept:
        return []
    first = min(PLACES[axis](one) for one in kept)
    return [one for one in taken if one.queries and _moment(one.queries[0], axis) >= first]


def _moment(image: QueryImage, axis: Axis) -> int:
    return image.batch_timestamp_ms if axis is Axis.CLOCK else image.watermark_ms


def _dots(kept: Sequence[RetainedBatch], row: int, selected: str, axis: Axis) -> dict[str, Any]:
    groups = _groups(kept, axis)
    chosen = [any(point_id(one) == selected for one in group) for group in groups]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": kept[0].query,
        "x": [PLACES[axis](group[-1]) for group in groups],
        "y": [row] * len(groups),
        "customdata": [point_id(group[-1]) for group in groups],
        "text": [_said(group) for group in groups],
        "hovertemplate": "%{text}",
        "line": {"color": "$border", "width": 2},
        "marker": {
            "size": [15 if one else 9 for one in chosen],
            "color": [BLUE if one else "$bg" for one in chosen],
            "line": {"color": BLUE, "width": 2},
        },
    }


def _groups(kept: Sequence[RetainedBatch], axis: Axis) -> list[list[RetainedBatch]]:
    """Batches that stand at one place, ascending; by the clock each stands alone."""
    if axis is Axis.CLOCK:
        return [[one] for one in kept]
    groups: dict[int, list[RetainedBatch]] = {}
    for one in sorted(kept, key=lambda one: one.batch):
        groups.setdefault(one.watermark_ms, []).append(one)
    return list(groups.values())


def _said(group: Sequence[RetainedBatch]) -> str:
    if len(group) == 1:
        return f"batch {group[0].batch:,}"
    return f"batch {group[-1].batch:,}, the newest of {formats.ranges([one.batch for one in group])}"


def _diamonds(taken: Sequence[Savepoint], row: int, axis: Axis) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "savepoint",
        "x": [_moment(one.queries[0], axis) for one in taken],
        "y": [row - 0.45] * len(taken),
        "customdata": [one.id for one in taken],
        "text": [f"{formats.short_id(one.id)} · batch {one.batch:,}{f' · {one.label}' if one.label else ''}" for one in taken],
        "hovertemplate": "%{text}",
        "marker": {"symbol": "diamond", "size": 11, "color": VIOLET, "line": {"color": "$bg", "width": 1}},
    }


def _layout(queries: int) -> dict[str, Any]:
    return {
        "hovermode": "closest",
        "dragmode": "pan",
        "margin": {"l": 12, "r": 12, "t": 6, "b": 24},
        "yaxis": {"visible": False, "range": [-0.5, queries - 0.1], "autorange": False},
        "xaxis": {"showgrid": False},
    }
