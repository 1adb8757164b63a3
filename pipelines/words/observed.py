"""What a job observes of its batches, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.observed import Observed, ObservedNow
from pipelines.words import formats

MOST_CHARACTERS = 80
MOST_NUMBERS = 10


def number(value: float | None) -> str:
    """`1,234`, `0.25`: up to ten digits."""
    return formats.MISSING if value is None or formats.missing(value) else f"{value:,.10g}"


def value(observed: Observed) -> str:
    """The number, or the text of what is none."""
    return observed.text if observed.value is None else number(observed.value)


def briefly(values: Sequence[Observed]) -> str:
    """`checks.bad_rows 3; checks.mean 0.5`, as many as have room; a dash where there are none."""
    whole = "; ".join(f"{observed.name} {value(observed)}" for observed in values) or formats.MISSING
    return whole if len(whole) <= MOST_CHARACTERS else f"{whole[: MOST_CHARACTERS - 1]}…"


def now(numbers: Sequence[ObservedNow]) -> str:
    """`checks.bad_rows 3; checks.mean 0.5`: of the newest batches, with their queries where these are several; how many more there are."""
    several = len({observed.query for observed in numbers}) > 1
    shown = [f"{titled(observed.query, observed.name, several=several)} {number(observed.value)}" for observed in numbers[:MOST_NUMBERS]]
    more = [f"and {len(numbers) - MOST_NUMBERS} more"] if len(numbers) > MOST_NUMBERS else []
    return "; ".join([*shown, *more]) or formats.MISSING


def titled(query: str, name: str, *, several: bool) -> str:
    """A number's name, after that of its query where several queries are shown."""
    return f"{query}: {name}" if several else name
