"""What-if forks: jobs that a piece of work begins for itself, and that are no more when it has ended."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.replays import Replay


@dataclass(frozen=True)
class WhatIf:
    """What a fork is run for (`jobs/<fork>/what-if.json`, there while the work goes on)."""

    work: str
    """Id of the replay or the bisection."""
    replay: Replay | None = None
    """What is listed of the replay where the server ends before it does; None for a bisection."""
