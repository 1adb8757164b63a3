"""What the sources of a savepoint still hold of all that its next batches read: as long as that is whole, it is worth something."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.bounds import Count, Moment
from pipelines.domain.ids import QueryName

MOST_GAPS = 20
"""So many of what is gone are named; the rest is counted."""


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
    """Its name or index, as in the savepoint's offsets."""
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
