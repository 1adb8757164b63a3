"""A difference of state in words."""

from __future__ import annotations

from pipelines.domain.state_differences import ColumnDrift, KeyChanges, StateAt
from pipelines.words import formats


def point(at: StateAt) -> str:
    """`clicks, batch 7 (sp-1)`."""
    batches = {f"{batch:,}" for batch in at.batches.values()}
    named = f" ({at.named.rpartition('/')[2]})" if at.named != at.job else ""
    return f"{at.job}, batch {', '.join(sorted(batches))}{named}"


def changes(counted: KeyChanges, same: int) -> str:
    """`3 added, 1 removed, 7 changed, 90 the same`."""
    parts = ((counted.added, "added"), (counted.removed, "removed"), (counted.changed, "changed"), (same, "the same"))
    return ", ".join(f"{count:,} {word}" for count, word in parts)


def bound(value: float | None, kind: str) -> str:
    """A mean, a least or a greatest value."""
    if value is None:
        return formats.MISSING
    if kind == "time":
        return formats.exact(round(value), None)
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


def largest(drift: ColumnDrift) -> str:
    """The largest change of one key, with its sign."""
    if drift.largest is None or not drift.changed:
        return formats.MISSING
    if drift.kind == "time":
        return f"{'+' if drift.largest > 0 else '-'}{formats.duration(abs(drift.largest))}"
    return f"{'+' if drift.largest > 0 else ''}{bound(drift.largest, drift.kind)}"
