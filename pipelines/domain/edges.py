"""Edges of the tree of versions: what was known of the state that a run began with, under the run's code."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.ids import SavepointId
from pipelines.domain.migrations import Migration
from pipelines.domain.verdicts import Outcome, Part, Verdict

EDGE_FILE = "edge.json"
"""In the run's folder."""


@dataclass(frozen=True)
class Edge:
    """What became of the state that a run went on with (`edge.json`), as it was known when the run began."""

    outcome: Outcome | None = None
    """The verdict on its code; None where nobody had checked it."""
    savepoint: SavepointId | None = None
    """Against which it was checked."""
    parts: tuple[Part, ...] = ()
    """Those whose state is not the same, without what would have helped."""
    migration: Migration | None = None
    """How its state was rewritten before it began; None where it was not."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """What of the state the run went on without, by name."""
        return self.migration.dropped if self.migration else tuple(name for part in self.parts for name in part.dropped)


def edge(verdict: Verdict | None) -> Edge:
    """The edge of a run that begins with that verdict."""
    if verdict is None:
        return Edge()
    parts = tuple(replace(part, hint="", empty=()) for part in verdict.parts if part.outcome is not Outcome.SAME)
    return Edge(verdict.outcome, verdict.savepoint, parts)
