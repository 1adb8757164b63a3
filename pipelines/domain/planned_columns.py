"""What a stateful operator of a plan keeps, column by column, each taken apart as if it stood there alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PlannedAggregate:
    """One aggregate of an aggregation, taken apart as if it stood there alone, with the columns of state that it has in their order."""

    text: str
    digest: str
    narrow: str
    """The same without a cast to a wider type around its argument; the digest where it has none."""
    columns: tuple[str, ...]
    """Their types, in Spark's JSON."""
    initial: tuple[str, ...]
    """What each column holds before any row came, as SQL; empty where Spark does not say."""
    gaps: tuple[str, ...] = ()
    """What could not be compared whole."""
    own: str = ""
    """The digest of the aggregate and its key alone, by the names of their columns; empty where it is not known."""


@dataclass(frozen=True)
class PlannedKey:
    """One column of a deduplication's key, or of a side of a join, taken apart as if it stood there alone."""

    name: str
    digest: str
    narrow: str
    """The same without a cast to a wider type; the digest where it has none."""
    kind: str
    """Its type, in Spark's JSON."""
    is_event_time: bool
    """Whether it has a watermark, which keys go by."""
    gaps: tuple[str, ...] = ()
    """What could not be compared whole."""
    is_nullable: bool = True
    """Whether it may be null."""


@dataclass(frozen=True)
class PlannedJoin:
    """A join of two streams, with the columns that it keeps of each side, in the order of their state."""

    digest: str
    """Of its kind, condition and keys, and of the rows of both sides, whatever columns they have."""
    left: tuple[PlannedKey, ...]
    right: tuple[PlannedKey, ...]
    gaps: tuple[str, ...] = ()
    """What could not be compared whole."""
    timed_by: int | None = None
    """The place of the first of its keys that has a watermark."""

    @property
    def sides(self) -> Mapping[str, tuple[PlannedKey, ...]]:
        return {"left": self.left, "right": self.right}
