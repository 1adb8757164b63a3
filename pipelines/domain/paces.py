"""How long a copy will take, told by one that went the same way before."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.domain.bounds import Took
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint

FEWEST = 100
"""A copy of less than that part of the bytes says nothing of how long all of them take,"""
SMALL_BYTES = 2**20
"""unless they are so few that the time is that of the files."""


@dataclass(frozen=True)
class Pace:
    """What a plan says of its time."""

    about_ms: Took
    savepoint: SavepointId
    """Which took so long, or shorter as it was smaller."""


def pace(files: int, new_bytes: int, before: Iterable[Savepoint]) -> Pace | None:
    """By the savepoint whose new bytes are most like those, out of the savepoints `before`, each copied from where the job is to where the
    copy will be; None where none of them is of use."""
    useful = [savepoint for savepoint in before if max(savepoint.new_bytes, SMALL_BYTES) * FEWEST >= new_bytes and savepoint.files]
    if not useful:
        return None
    nearest = min(useful, key=lambda savepoint: abs(math.log((new_bytes + 1) / (savepoint.new_bytes + 1))))
    factor = max(1.0, files / nearest.files, new_bytes / max(nearest.new_bytes, SMALL_BYTES))
    return Pace(nearest.took_ms * factor, nearest.id)
