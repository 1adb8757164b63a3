"""Intervals: how far B's metrics are from A's on the same events, by a seeded bootstrap over stretches of event time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from pipelines.catalog import alignment
from pipelines.domain.intervals import CONFIDENCE, LEAST_BATCHES, Interval, Measure, words
from pipelines.verbs.experiments import ShowIntervals
from pipelines.workspace import runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 2_000
SEED = 20_260_101
MOST_OBSERVED = 20
"""An interval takes some hundredths of a second."""


@answers(ShowIntervals)
def intervals(context: Context, question: ShowIntervals) -> tuple[Interval, ...]:
    """One interval for each measure, of `query` or the first query that both have; then one for each number that both observe, at most
    `MOST_OBSERVED`. Raises NotFound (`job.not_found`)."""
    first, second = runs.known(context, question.a), runs.known(context, question.b)
    with context.catalog.reading() as reader:
        query = question.query or alignment.shared_query(reader, first, second)
        stretches = alignment.stretches(reader, first, second, query)
        observed = alignment.observed(reader, first, second, query)
    of_batches = (measured(measure, stretches) for measure in Measure if measure is not Measure.OBSERVED)
    return (*of_batches, *(measured(Measure.OBSERVED, both, name) for name, both in islice(observed.items(), MOST_OBSERVED)))


def measured(measure: Measure, stretches: Sequence[Mapping[str, float | None]], name: str = "") -> Interval:
    """The interval of one measure, with its words; stretches in which a side says nothing of it are left out."""
    interval = replace(_measured(measure, stretches), name=name)
    return replace(interval, words=words(interval))


def _measured(measure: Measure, stretches: Sequence[Mapping[str, float | None]]) -> Interval:
    import numpy as np

    pairs = [(stretch[f"a_{measure}"], stretch[f"b_{measure}"]) for stretch in stretches]
    values = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
    if not len(values):
        return Interval(measure, 0, None, None)
    a, b = (float(np.median(values[:, side])) for side in (0, 1))
    if len(values) >= LEAST_BATCHES and (values[:, 0] == values[:, 1]).all():
        return Interval(measure, len(values), a, b, 0.0, 0.0, 0.0)
    if len(values) < LEAST_BATCHES or a <= 0 or (values[:, 0] < 0).any():
        return Interval(measure, len(values), a, b)
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample may have a median of 0
        low, high = _bootstrapped(values[:, 0], values[:, 1])
    if not np.isfinite((low, high)).all():
        return Interval(measure, len(values), a, b)
    return Interval(measure, len(values), a, b, b / a - 1, low, high)


def _bootstrapped(a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float]:
    """The ends of the interval of B's median as a share of A's, less one. Stretches are drawn in pairs: load moves both sides."""
    import numpy as np
    from scipy import stats

    def apart(x: NDArray[Any], y: NDArray[Any], axis: int = -1) -> NDArray[Any]:
        return np.asarray(np.median(y, axis=axis) / np.median(x, axis=axis) - 1)

    bootstrapped = stats.bootstrap(
        (a, b),
        apart,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return float(bootstrapped.confidence_interval.low), float(bootstrapped.confidence_interval.high)
