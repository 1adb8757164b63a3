"""Trials: what changed code would write in its first batch on a savepoint's state."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.changed_meanings import ChangedMeaning
from pipelines.domain.ids import QueryName, SavepointId, VersionId
from pipelines.domain.states import StateRows
from pipelines.domain.trust import ScratchBatch

MOST_ROWS = 200
"""Of each query's batch."""


@dataclass(frozen=True)
class TriedQuery:
    """The batch that a query ran, and the first rows that it would have written."""

    query: QueryName
    batch: ScratchBatch
    rows: StateRows


@dataclass(frozen=True)
class Trial:
    """What came of it. `note` says why a query ran no batch; `failed` where the code, or its state, did not go."""

    savepoint: SavepointId
    version: VersionId
    queries: tuple[TriedQuery, ...]
    note: str
    failed: bool
    took_ms: float
    meanings: tuple[ChangedMeaning, ...] = ()
    """The operators whose state means something else under the code, or was rewritten for it, each with a key that shows it."""
