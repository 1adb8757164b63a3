"""Intervals: how far B's metrics are from A's on the same events, by a seeded bootstrap over stretches of event time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipelines.catalog import alignment
from pipelines.domain.intervals import CONFIDENCE, LEAST_BATCHES, Interval, Measure, words
from pipelines.workspace import runs
from pipelines.workspace.context import Context

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 2_000
SEED = 20_260_101


def intervals(context: Context, a: str, b: str, query: str = "") -> tuple[Interval, ...]:
    """One for each measure, of `query` or the first that both have. Raises NotFound (`job.not_found`)."""
    first, second = runs.known(context, a), runs.known(context, b)
    with context.catalog.reading() as reader:
        named = query or alignment.shared_query(reader, first, second)
        found = alignment.stretches(reader, first, second, named)
    return tuple(measured(measure, found) for measure in Measure)


def measured(measure: Measure, found: Sequence[Mapping[str, float | None]]) -> Interval:
    """The interval of one measure, with its words; stretches in which a side says nothing of it are left out."""
    known = _measured(measure, found)
    return replace(known, words=words(known))


def _measured(measure: Measure, found: Sequence[Mapping[str, float | None]]) -> Interval:
    import numpy as np

    pairs = [(one[f"a_{measure}"], one[f"b_{measure}"]) for one in found]
    known = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
    if not len(known):
        return Interval(measure, 0, None, None)
    a, b = (float(np.median(known[:, side])) for side in (0, 1))
    if len(known) < LEAST_BATCHES or not (known[:, 0] > 0).all():
        return Interval(measure, len(known), a, b)
    low, high = _bootstrapped(known[:, 0], known[:, 1])
    return Interval(measure, len(known), a, b, b / a - 1, low, high)


def _bootstrapped(a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float]:
    """The ends of the interval of B's median as a share of A's, less one. Stretches are drawn in pairs: load moves both sides."""
    import numpy as np
    from scipy import stats

    def apart(x: NDArray[Any], y: NDArray[Any], axis: int = -1) -> NDArray[Any]:
        return np.asarray(np.median(y, axis=axis) / np.median(x, axis=axis) - 1)

    found = stats.bootstrap(
        (a, b),
        apart,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
