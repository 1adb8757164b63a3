"""What a job says of its batches by `df.observe(name, …)`: Spark puts it into the progress event, as `observedMetrics`.

Numbers are metrics, named `NAME.COLUMN` (`checks.bad_rows`), a truth as 1 or 0; anything else is kept as text beside the batch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pipelines.domain.bounds import Rate
from pipelines.domain.texts import Text, shown_in_line

MOST = 50
"""How many values of a batch are kept: the first ones, as Spark lists them."""
LONGEST_NAME = 120
_TEXT = Text("an observed text", 200)
_GREATEST = 1e300
_DIGEST = 8


@dataclass(frozen=True)
class Observed:
    """One value that a query observed of one batch."""

    name: str
    value: Rate | None
    """None of what is no number; where it is a whole one beyond 2^53, the nearest that a double holds."""
    text: str = ""
    """Of what is no number (a text, a time, a list, NaN): its beginning, as JSON has it."""


@dataclass(frozen=True)
class ObservedNow:
    """A number that a query observed of its newest batch."""

    query: str
    name: str
    value: float


@dataclass(frozen=True)
class ObservedSeries:
    """A number over time: `t` is epoch ms of a batch's end, or its event time, as in the series that it is part of."""

    query: str
    name: str
    t: tuple[float, ...]
    value: tuple[float, ...]


def read_observed(raw: Mapping[str, Any]) -> tuple[Observed, ...]:
    """What a progress event observed, at most `MOST` values; one that is null is left out, and so is a second one of the same name."""
    named: dict[str, Observed] = {}
    for observed in islice(_values(raw.get("observedMetrics") or {}), MOST):
        named.setdefault(observed.name, observed)
    return tuple(named.values())


def metric_name(observation: str, column: str) -> str:
    """`checks.bad_rows`: in one line, without control characters; the end of a long one is a digest of the whole."""
    whole = " ".join(shown_in_line(f"{observation}.{column}").split())
    if len(whole) <= LONGEST_NAME:
        return whole
    return f"{whole[: LONGEST_NAME - _DIGEST - 1]}…{hashlib.sha256(whole.encode()).hexdigest()[:_DIGEST]}"


def _values(observations: Mapping[str, Mapping[str, Any]]) -> Iterator[Observed]:
    for observation, row in observations.items():
        for column, value in (row or {}).items():
            if value is not None:
                yield _observed(metric_name(observation, column), value)


def _observed(name: str, value: Any) -> Observed:
    if isinstance(value, bool | int | float) and abs(value) <= _GREATEST:
        return Observed(name, float(value))
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Observed(name, None, _TEXT.cut(text))
