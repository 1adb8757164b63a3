"""A job that is behind and comes nearer: how far, how fast, and when it will be there. What nobody knows is None."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.sources import Waiting


class Pace(enum.StrEnum):
    """What the time that is left was reckoned from."""

    BACKLOG = "backlog"
    """What the sources have waiting, by how fast that shrinks."""
    EVENT_TIME = "event-time"
    """The lag of the newest event, by how fast that shrinks: as if events came as densely from now on."""
    BATCHES = "batches"
    """The batches up to the one at which the job ends, by the usual time of one."""


@dataclass(frozen=True)
class CatchingUp:
    """How far a job is behind, and when it will have caught up at its present pace."""

    behind_ms: float | None
    """How far its newest event is behind the clock; None where it reads no event time."""
    backlog: Waiting | None
    """What its sources have not read yet; None where no source says so."""
    rows_per_second: float | None
    """What its newest batch read; None where that is not known."""
    left_ms: float | None
    """None where it comes no nearer at its present pace, or nobody can tell."""
    pace: Pace | None
    batches: int | None = None
    """Batches left of a job that ends at one; None for every other."""
