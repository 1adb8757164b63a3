"""What the sources of a savepoint still hold of all that its next batches read: as long as that is whole, it is worth something."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.bounds import Count, Format, Moment
from pipelines.domain.ids import QueryName, SavepointId

HOLDINGS_FORMAT = 1
MOST_GAPS = 20
"""So many of what is gone are named; the rest is counted."""
LEAST_MS = 600_000
"""No savepoint is taken ahead of its time for a source that does not even keep things for so long: the next one would be of no use, too."""
LEFT_SHARE = 4
"""The next savepoint is taken when a source keeps what this one needs for a quarter of its usual time and no longer."""


class Usable(enum.StrEnum):
    """Whether the batches after a savepoint can still be read."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    """Nobody can tell of such a source, or it does not answer."""


@dataclass(frozen=True)
class Holding:
    """What one source of one query still holds."""

    query: QueryName
    source: str
    """Its name or index, as in the savepoint's offsets; `sink` for the Iceberg table that the query writes to."""
    usable: Usable
    why: str
    """In a sentence without its stop."""
    until_ms: Moment | None = None
    """Until when (epoch ms) it most likely is; None where nothing says that it ever ends."""
    keeps_ms: Count | None = None
    """How long the source keeps something after it came; None where nothing says that it goes."""
    gone: Count = 0
    """How much of what is needed is gone."""
    unit: str = "files"
    """What `gone` counts."""
    gaps: tuple[str, ...] = ()
    """What is gone, the first `MOST_GAPS`."""
    has_folder: bool = True
    """Whether the folder of files that are gone is there: Spark then reads what is left in it, and says nothing."""
    stops: str = ""
    """What the query ends at though the source has all, in a sentence without its stop; empty where nothing is known to be in its way."""


@dataclass(frozen=True)
class Holdings:
    """What all sources of a savepoint hold (`holdings.json` beside its manifest, replaced whole)."""

    format: Format
    savepoint: SavepointId
    at_ms: Moment
    """When the sources were asked."""
    sources: tuple[Holding, ...]
    since_ms: Moment | None = None
    """Since when the answer is the same yes or no."""

    @property
    def usable(self) -> Usable:
        """No where one source lacks something, yes where every one has all."""
        verdicts = {holding.usable for holding in self.sources}
        if Usable.NO in verdicts:
            return Usable.NO
        return Usable.UNKNOWN if Usable.UNKNOWN in verdicts else Usable.YES

    @property
    def until_ms(self) -> int | None:
        """Until when the first of its sources holds all; None where none ends."""
        return min((holding.until_ms for holding in self.sources if holding.until_ms is not None), default=None)


@dataclass(frozen=True)
class HoldingsPlan:
    """Which sources will be asked: those of a savepoint's queries."""

    savepoint: SavepointId
    sources: int


def ends_ms(holdings: Holdings | None, best_before_ms: int | None) -> int | None:
    """When a savepoint is worth nothing any more: by its date, or by its sources; a source that lacks something ended when it was asked."""
    asked = None if holdings is None else holdings.at_ms if holdings.usable is Usable.NO else holdings.until_ms
    return min((at_ms for at_ms in (asked, best_before_ms) if at_ms is not None), default=None)


def next_due_ms(holdings: Holdings | None, created_ms: int) -> int | None:
    """When the next savepoint has to be taken, before this one, taken at `created_ms`, runs out; None where it does not, or nobody knows
    when, or it would not help."""
    if holdings is None:
        return None
    if holdings.usable is Usable.NO:
        ended_ms = holdings.since_ms or holdings.at_ms
        return ended_ms if ended_ms - created_ms >= LEAST_MS else None
    dated = [
        (holding.until_ms, holding.keeps_ms)
        for holding in holdings.sources
        if holding.until_ms is not None and holding.keeps_ms is not None
    ]
    return min((until_ms - keeps_ms // LEFT_SHARE for until_ms, keeps_ms in dated if keeps_ms >= LEAST_MS), default=None)
