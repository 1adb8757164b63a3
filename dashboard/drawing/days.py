"""A day beside the one before: a series with that of the day before in it, under names that tell them apart. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from dashboard.drawing.figures import column
from pipelines.domain.experiments import Series
from pipelines.domain.observed import ObservedSeries
from pipelines.domain.operators import OperatorSeries
from pipelines.domain.sources import BacklogSeries

BESIDE = "beside."
"""Begins the names of columns, and of operators' and sources' queries, of the day before."""
MOMENTS = ("t", "watermark_ms", "event_time_max_ms")
S = TypeVar("S", OperatorSeries, BacklogSeries, ObservedSeries)


def beside(series: Series, past: Series, shift_ms: float) -> Series:
    """`series` with all that is in `past`, moved forward by `shift_ms`, so that both lie over each other."""
    moved = {name: tuple(column(past.columns[name]) + shift_ms) for name in MOMENTS if name in past.columns}
    columns = {BESIDE + name: values for name, values in {**past.columns, **moved}.items()}
    return replace(
        series,
        columns={**series.columns, **columns},
        operators=series.operators + tuple(_moved(operator, shift_ms) for operator in past.operators),
        backlog=series.backlog + tuple(_moved(source, shift_ms) for source in past.backlog),
        observed=series.observed + tuple(_moved(line, shift_ms) for line in past.observed),
    )


def of_day(several: Sequence[S]) -> list[S]:
    """Those of the day that is shown."""
    return [series for series in several if not series.query.startswith(BESIDE)]


def of_day_before(several: Sequence[S]) -> list[S]:
    """Those of the day before, under their own names."""
    return [replace(series, query=series.query.removeprefix(BESIDE)) for series in several if series.query.startswith(BESIDE)]


def _moved(series: S, shift_ms: float) -> S:
    return replace(series, query=BESIDE + series.query, t=tuple(at_ms + shift_ms for at_ms in series.t))
