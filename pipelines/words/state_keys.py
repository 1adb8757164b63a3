"""Keys of state in words."""

from __future__ import annotations

from pipelines.domain.state_keys import KeyHistory
from pipelines.words import formats


def history(told: KeyHistory) -> str:
    """`changed 3 times since batch 7`, and what is missing."""
    return " ".join(filter(None, (f"changed {formats.plural(len(told.changes), 'time')} since batch {told.since:,}", told.note)))
