"""Triggers in words. Pure."""

from __future__ import annotations

from pipelines.domain.triggers import Trigger, TriggerKind
from pipelines.words import formats

_WORDS = {
    TriggerKind.AVAILABLE_NOW: "all that is there, then it ends",
    TriggerKind.ONCE: "one batch, then it ends",
    TriggerKind.CONTINUOUS: "continuous, a checkpoint every {every}",
    TriggerKind.REAL_TIME: "real time, batches of {every}",
}


def spelt(trigger: Trigger | None) -> str:
    """`every 10.0 s`, `as soon as there is data`; a dash where it is not known."""
    if trigger is None:
        return formats.MISSING
    every = formats.duration(trigger.interval_ms)
    if trigger.kind is TriggerKind.PROCESSING_TIME:
        return f"every {every}" if trigger.interval_ms else "as soon as there is data"
    return _WORDS[trigger.kind].format(every=every)
