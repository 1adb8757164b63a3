"""A query's trigger as Spark's JVM has it, however the script set it."""

from __future__ import annotations

from typing import Any

from pipelines.domain.triggers import Trigger, TriggerKind
from pipelines.driver.records import say

KINDS = {
    "ProcessingTimeTrigger": TriggerKind.PROCESSING_TIME,
    "AvailableNowTrigger$": TriggerKind.AVAILABLE_NOW,
    "OneTimeTrigger$": TriggerKind.ONCE,
    "ContinuousTrigger": TriggerKind.CONTINUOUS,
    "RealTimeTrigger": TriggerKind.REAL_TIME,
}
"""Simple names of classes in `org.apache.spark.sql.execution.streaming` (Spark 3.5 to 4.3) -> kinds."""


def trigger_of(query: Any) -> Trigger | None:
    """The trigger of a query that has started; None for one that is not known here, which the log says."""
    trigger = query._jsq.streamingQuery().trigger()
    name = trigger.getClass().getSimpleName()
    if name not in KINDS:
        say(f"trigger {name} is not known: the usual time between batches is learnt instead")
        return None
    kind = KINDS[name]
    if kind is TriggerKind.REAL_TIME:
        return Trigger(kind, int(trigger.batchDurationMs()))
    return Trigger(kind, int(trigger.intervalMs()) if kind in (TriggerKind.PROCESSING_TIME, TriggerKind.CONTINUOUS) else 0)
