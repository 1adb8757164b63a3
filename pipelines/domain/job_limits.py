"""Limits of a job: from when on it needs attention, where that is not what is usual for all jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.bounds import Count
from pipelines.domain.errors import Invalid
from pipelines.domain.moments import LONGEST_MS

MOST_RESTARTS = 1_000


@dataclass(frozen=True)
class JobLimits:
    """None: the usual limit. Times are ms."""

    quiet_ms: Count | None = None
    """Without a batch for longer it makes no progress."""
    lag_ms: Count | None = None
    """Event-time lag from which it lags."""
    starting_ms: Count | None = None
    """How long its driver may take to come up."""
    unsaved_ms: Count | None = None
    """How long its state may be without a new savepoint."""
    restarts: Count | None = None
    """So many restarts in an hour are too many."""
    growth_bytes: Count | None = None
    """Its checkpoint grows by more in a day: its state, or files that nobody deletes."""


def changed(before: JobLimits, given: JobLimits) -> JobLimits:
    """`before` with what is given: None leaves what is there, 0 brings the usual limit back. Raises Invalid (`limits.nothing`,
    `limits.longest`)."""
    values = {name: value or None for name, value in vars(given).items() if value is not None}
    if not values:
        raise Invalid("limits.nothing", "No limit was given", "Give at least one; 'usual' (0 over REST) takes one away.")
    if max((limit or 0 for name, limit in values.items() if name.endswith("_ms")), default=0) > LONGEST_MS:
        raise Invalid("limits.longest", "No limit is longer than 366 days", "Give a shorter one.")
    return replace(before, **values)
