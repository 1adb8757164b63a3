"""What the sources of a savepoint still hold, in words."""

from __future__ import annotations

from pipelines.domain.holdings import Holding, Holdings, Usable
from pipelines.domain.savepoints import Savepoint
from pipelines.words import formats

UNASKED, USABLE, UNKNOWN, ENDING, DAMAGED = "not asked yet", "usable", "cannot tell", "about to run out", "no: damaged"
TITLE = "Usable"
HINT = "Whether its sources still hold all that was read after it, and until when they most likely do"


def usable(savepoint: Savepoint, now_ms: float) -> str:
    """`no: damaged` whatever its sources hold, else what they do."""
    return DAMAGED if savepoint.damaged_files else held(savepoint.holdings, now_ms)


def held(holdings: Holdings | None, now_ms: float) -> str:
    """`usable`, `usable for 2d 4h`, `no longer: 3 files gone`, `cannot tell`."""
    if holdings is None:
        return UNASKED
    if holdings.usable is Usable.NO:
        return f"no longer: {gone(holdings)}"
    if holdings.usable is Usable.UNKNOWN:
        return UNKNOWN
    if holdings.until_ms is None:
        return USABLE
    return f"{USABLE} for {formats.duration(holdings.until_ms - now_ms)}" if holdings.until_ms > now_ms else ENDING


def is_over(holdings: Holdings | None, now_ms: float) -> bool:
    """Whether it cannot be used any more, or not for sure."""
    return holdings is not None and (holdings.usable is Usable.NO or (holdings.until_ms is not None and holdings.until_ms <= now_ms))


def gone(holdings: Holdings) -> str:
    """`3 files gone`; of several sources each in its own unit."""
    lacking = [holding for holding in holdings.sources if holding.usable is Usable.NO]
    counts = {
        unit: sum(holding.gone for holding in lacking if holding.unit == unit)
        for unit in dict.fromkeys(holding.unit for holding in lacking)
    }
    return ", ".join(f"{formats.plural(count, unit.removesuffix('s'))} gone" for unit, count in counts.items())


def why(holdings: Holdings) -> str:
    """The reason of each source that is not simply usable; of all where each is."""
    telling = [holding for holding in holdings.sources if holding.usable is not Usable.YES or holding.stops] or holdings.sources
    return "; ".join(dict.fromkeys(_described(holding) for holding in telling))


def _described(holding: Holding) -> str:
    named = f", such as {holding.gaps[0]}" if holding.gaps and holding.gaps[0] not in holding.why else ""
    stops = f"; {holding.stops}" if holding.stops else ""
    return f"{holding.query}, source {holding.source}: {holding.why}{named}{stops}"


def hint(holdings: Holdings | None, now_ms: float) -> str:
    """Why, and when the sources were asked."""
    return HINT if holdings is None else f"{why(holdings)}. Asked {formats.ago(holdings.at_ms, now_ms)}"
