"""When a streaming query begins its batches, as its script says it (Spark's `Trigger`)."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.bounds import Count


class TriggerKind(enum.StrEnum):
    """Spark's triggers."""

    PROCESSING_TIME = "processing-time"
    AVAILABLE_NOW = "available-now"
    ONCE = "once"
    CONTINUOUS = "continuous"
    REAL_TIME = "real-time"


@dataclass(frozen=True)
class Trigger:
    """A query's trigger."""

    kind: TriggerKind
    interval_ms: Count = 0
    """From one batch's begin to the next's; of a continuous query between its checkpoints, of a real-time one a batch's length.
    0: a batch begins as soon as there is data, or there is one batch only."""

    @property
    def ends(self) -> bool:
        """Whether the query ends by itself."""
        return self.kind in (TriggerKind.AVAILABLE_NOW, TriggerKind.ONCE)

    @property
    def idles(self) -> bool:
        """Whether batches leave time between them, which they then fill to a share."""
        return self.kind is TriggerKind.PROCESSING_TIME and self.interval_ms > 0
