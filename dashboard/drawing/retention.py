"""The batches that Spark still keeps, as a chart: a dot each on an axis of clock or event time, savepoints as diamonds above. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from dashboard.drawing.figures import BLUE, VIOLET, Chart, LegendEntry
from pipelines.domain.savepoints import QueryImage, RetainedBatch, Savepoint
from pipelines.words import formats


class Axis(enum.StrEnum):
    """The quantity of the x axis: the time when a batch was planned, or its watermark."""

    CLOCK = "clock"
    EVENT = "event"


Place = Callable[[RetainedBatch], int]
PLACES: dict[Axis, Place] = {Axis.CLOCK: lambda retained: retained.timestamp_ms, Axis.EVENT: lambda retained: retained.watermark_ms}


def point_id(retained: RetainedBatch) -> str:
    """The id of a batch on the axis: `query:batch`."""
    return f"{retained.query}:{retained.batch}"


def has_event_time(kept: Sequence[RetainedBatch]) -> bool:
    """Whether any batch has a watermark."""
    return any(retained.watermark_ms > 0 for retained in kept)


def newest_until(kept: Sequence[RetainedBatch], axis: Axis, at_ms: int) -> RetainedBatch | None:
    """The newest batch at or before a moment on that axis; None where all are later."""
    place = PLACES[axis]
    before = [retained for retained in kept if place(retained) <= at_ms and (axis is Axis.CLOCK or retained.watermark_ms > 0)]
    return max(before, key=lambda retained: (retained.batch, retained.timestamp_ms), default=None)


def of_batch(kept: Sequence[RetainedBatch], batch: int) -> RetainedBatch | None:
    """The batch of that number; of the first query that has it."""
    return next((retained for retained in kept if retained.batch == batch), None)


def batches_chart(kept: Sequence[RetainedBatch], taken: Sequence[Savepoint], selected: str, axis: Axis = Axis.CLOCK) -> Chart:
    """Dots give `query:batch` when they are clicked, diamonds the savepoint's id. On the axis of event time batches of one watermark
    are one dot, which is the newest of them."""
    shown = kept if axis is Axis.CLOCK else [retained for retained in kept if retained.watermark_ms > 0]
    queries = sorted({retained.query for retained in kept})
    rows = [[retained for retained in shown if retained.query == query] for query in queries]
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
    numbers = formats.ranges(sorted({retained.batch for retained in kept}))
    return (
        f"{formats.plural(len(kept), 'batch', 'batches')} that Spark still keeps by {by}: {numbers}; "
        f"{formats.plural(within, 'savepoint')} among them."
    )


def _within(kept: Sequence[RetainedBatch], taken: Sequence[Savepoint], axis: Axis) -> list[Savepoint]:
    if not kept:
        return []
    first = min(PLACES[axis](retained) for retained in kept)
    return [savepoint for savepoint in taken if savepoint.queries and _moment(savepoint.queries[0], axis) >= first]


def _moment(image: QueryImage, axis: Axis) -> int:
    return image.batch_timestamp_ms if axis is Axis.CLOCK else image.watermark_ms


def _dots(kept: Sequence[RetainedBatch], row: int, selected: str, axis: Axis) -> dict[str, Any]:
    groups = _groups(kept, axis)
    chosen = [any(point_id(retained) == selected for retained in group) for group in groups]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": kept[0].query,
        "x": [PLACES[axis](group[-1]) for group in groups],
        "y": [row] * len(groups),
        "customdata": [point_id(group[-1]) for group in groups],
        "text": [_hover(group) for group in groups],
        "hovertemplate": "%{text}",
        "line": {"color": "$border", "width": 2},
        "marker": {
            "size": [15 if is_chosen else 9 for is_chosen in chosen],
            "color": [BLUE if is_chosen else "$bg" for is_chosen in chosen],
            "line": {"color": BLUE, "width": 2},
        },
    }


def _groups(kept: Sequence[RetainedBatch], axis: Axis) -> list[list[RetainedBatch]]:
    """Batches that stand at one place, ascending; by the clock each stands alone."""
    if axis is Axis.CLOCK:
        return [[retained] for retained in kept]
    groups: dict[int, list[RetainedBatch]] = {}
    for retained in sorted(kept, key=lambda retained: retained.batch):
        groups.setdefault(retained.watermark_ms, []).append(retained)
    return list(groups.values())


def _hover(group: Sequence[RetainedBatch]) -> str:
    if len(group) == 1:
        return f"batch {group[0].batch:,}"
    return f"batch {group[-1].batch:,}, the newest of {formats.ranges([retained.batch for retained in group])}"


def _diamonds(taken: Sequence[Savepoint], row: int, axis: Axis) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "savepoint",
        "x": [_moment(savepoint.queries[0], axis) for savepoint in taken],
        "y": [row - 0.45] * len(taken),
        "customdata": [savepoint.id for savepoint in taken],
        "text": [
            f"{formats.short_id(savepoint.id)} · batch {savepoint.batch:,}{f' · {savepoint.label}' if savepoint.label else ''}"
            for savepoint in taken
        ],
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
