"""The batches that Spark still keeps, as a chart: a dot each on an axis of time, savepoints as diamonds above. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard import formats
from dashboard.figures import BLUE, VIOLET, Chart, LegendEntry
from pipelines.domain.savepoints import RetainedBatch, Savepoint


def batches_chart(kept: Sequence[RetainedBatch], taken: Sequence[Savepoint], selected: str) -> Chart:
    """Dots give `query:batch` when they are clicked, diamonds the savepoint's id."""
    queries = sorted({one.query for one in kept})
    traces = [_dots([one for one in kept if one.query == query], row, selected) for row, query in enumerate(queries)]
    first = kept[0].timestamp_ms
    within = [one for one in taken if one.queries and one.queries[0].batch_timestamp_ms >= first]
    if within:
        traces.append(_diamonds(within, len(queries)))
    legend = (LegendEntry("batch", f"{len(kept):,}", BLUE, "circle"), LegendEntry("savepoint", f"{len(within):,}", VIOLET, "diamond"))
    kept_words, taken_words = formats.plural(len(kept), "batch", "batches"), formats.plural(len(within), "savepoint")
    summary = f"{kept_words} that Spark still keeps, and {taken_words} among them."
    return Chart(
        "Batches that Spark still keeps", tuple(traces), _layout(len(queries)), legend, summary=summary, height=64 + 34 * len(queries)
    )


def _dots(kept: Sequence[RetainedBatch], row: int, selected: str) -> dict[str, Any]:
    ids = [f"{one.query}:{one.batch}" for one in kept]
    chosen = [one == selected for one in ids]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": kept[0].query,
        "x": [one.timestamp_ms for one in kept],
        "y": [row] * len(kept),
        "customdata": ids,
        "text": [f"batch {one.batch:,}" for one in kept],
        "hovertemplate": "%{text}",
        "line": {"color": "$border", "width": 2},
        "marker": {
            "size": [15 if one else 9 for one in chosen],
            "color": [BLUE if one else "$bg" for one in chosen],
            "line": {"color": BLUE, "width": 2},
        },
    }


def _diamonds(taken: Sequence[Savepoint], row: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "savepoint",
        "x": [one.queries[0].batch_timestamp_ms for one in taken],
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
