"""The batches that Spark still keeps, by clock or by event time: which one a number or a moment means. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

from pipelines.domain.savepoints import RetainedBatch


class Axis(enum.StrEnum):
    """What a moment means: the clock's time, compared with when a batch was committed, or event time, with its watermark."""

    CLOCK = "clock"
    EVENT = "event"


Place = Callable[[RetainedBatch], int]
PLACES: dict[Axis, Place] = {Axis.CLOCK: lambda retained: retained.timestamp_ms, Axis.EVENT: lambda retained: retained.watermark_ms}
"""Where a batch stands on the strip: by the clock where Spark planned it, which is what a savepoint notes of its batch too."""
REACHED: dict[Axis, Place] = {Axis.CLOCK: lambda retained: retained.committed_ms, Axis.EVENT: lambda retained: retained.watermark_ms}
"""The moment from which on a batch is the newest one."""


def point_id(retained: RetainedBatch) -> str:
    """The id of a batch on the axis: `query:batch`."""
    return f"{retained.query}:{retained.batch}"


def has_event_time(kept: Sequence[RetainedBatch]) -> bool:
    """Whether any batch has a watermark."""
    return any(retained.watermark_ms > 0 for retained in kept)


def newest_until(kept: Sequence[RetainedBatch], axis: Axis, at_ms: int) -> RetainedBatch | None:
    """The newest batch at or before a moment on that axis; None where all are later."""
    reached = REACHED[axis]
    before = [retained for retained in kept if reached(retained) <= at_ms and (axis is Axis.CLOCK or retained.watermark_ms > 0)]
    return max(before, key=lambda retained: (reached(retained), retained.batch), default=None)


def of_batch(kept: Sequence[RetainedBatch], batch: int) -> RetainedBatch | None:
    """The batch of that number; of the first query that has it."""
    return next((retained for retained in kept if retained.batch == batch), None)
