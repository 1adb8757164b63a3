"""How much a metric of B differs from A's, with the interval that it lies in, and in words."""

from __future__ import annotations

import enum
from dataclasses import dataclass

LEAST_BATCHES = 10
"""With fewer batches at the same event time an interval says nothing."""
CONFIDENCE = 0.95


class Measure(enum.StrEnum):
    """What is measured of a batch."""

    BATCH_MS = "batch_ms"
    PROCESSED_RATE = "processed_rate"
    STATE_ROWS = "state_rows"
    STATE_BYTES = "state_bytes"
    OBSERVED = "observed"
    """A number that both jobs observe themselves (`df.observe`)."""


SAID = {
    Measure.BATCH_MS: ("B is {} slower", "B is {} faster"),
    Measure.PROCESSED_RATE: ("B processes {} more rows a second", "B processes {} fewer rows a second"),
    Measure.STATE_ROWS: ("B holds {} more rows", "B holds {} fewer rows"),
    Measure.STATE_BYTES: ("B's state takes {} more memory", "B's state takes {} less memory"),
    Measure.OBSERVED: ("B is {} higher", "B is {} lower"),
}
"""Measure -> what it means that B has more of it, and less."""


@dataclass(frozen=True)
class Interval:
    """One measure of A and B over the same events: ms a batch, rows a second, rows, bytes, or what the jobs observe.

    `share` is how much B's median is above A's (0.12: twelve percent), `low` and `high` are the ends of its 95 % interval (bootstrap
    over stretches of event time that both have batches in); None where nothing can be told.
    """

    measure: Measure
    batches: int
    """Stretches of event time that were compared, at most as many as either side has batches."""
    a: float | None
    b: float | None
    """Medians."""
    share: float | None = None
    low: float | None = None
    high: float | None = None
    words: str = ""
    name: str = ""
    """Of the number that is observed: `checks.bad_rows`; empty of other measures."""

    @property
    def told(self) -> bool:
        """Whether a difference can be told: the interval does not hold zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def words(interval: Interval) -> str:
    """`B is 12 % slower, between 5 and 19 %`, or why no difference can be told."""
    if not interval.batches or interval.a is None or interval.b is None:
        return "Not known of both at the same event time yet"
    if interval.share is None or interval.low is None or interval.high is None:
        return _untold(interval)
    if interval.low == interval.high == 0:
        return "The same"
    if not interval.told:
        return f"No difference can be told: between {_signed(interval.low)} and {_signed(interval.high)}, {interval.batches} batches"
    more, less = SAID[interval.measure]
    near, far = map(_percent, sorted((abs(interval.low), abs(interval.high))))
    said = (more if interval.share > 0 else less).format(_percent(abs(interval.share)))
    return said if near == far else f"{said}, between {near[:-2]} and {far}"


def _untold(interval: Interval) -> str:
    if interval.batches < LEAST_BATCHES:
        return f"No difference can be told yet: {interval.batches} batch{'' if interval.batches == 1 else 'es'}"
    if interval.a is not None and interval.a > 0:
        return "No difference can be told: A has too many batches with 0 or less"
    return f"No difference can be told: A has 0{' or less' if interval.measure is Measure.OBSERVED else ''}"


def _percent(share: float) -> str:
    """`12 %`, `5 %`, `0.4 %`: whole from ten percent on; never 0 for what is not."""
    percent = 100 * share
    if 0 < percent < 0.05:
        return "0.1 %"
    return f"{percent:,.0f} %" if percent >= 9.95 else f"{f'{percent:.1f}'.removesuffix('.0')} %"


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{_percent(abs(share))}"
