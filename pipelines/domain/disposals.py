"""Disposing of several savepoints at once: what would become of each, or became of it, and what all of it frees together."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.errors import Refusal
from pipelines.domain.ids import SavepointId


@dataclass(frozen=True)
class DisposePlan:
    """What disposing of a savepoint will delete, and what that frees (bytes that no other hard link holds)."""

    savepoint: SavepointId
    files: int
    bytes: int
    frees_bytes: int
    blockers: tuple[str, ...] = ()


@dataclass(frozen=True)
class DisposeOutcome:
    """The outcome of one savepoint: its plan, or its refusal."""

    savepoint: str
    """Its id; what it was named by where it was not found."""
    plan: DisposePlan | None
    """What is deleted; None where it is refused. `frees_bytes` is what is freed if it alone goes."""
    refusal: Refusal | None = None
    """The error that disposing of that savepoint alone raises."""


@dataclass(frozen=True)
class Disposal:
    """The outcomes of all savepoints, in the order they were named, each once. Totals leave out refused ones."""

    outcomes: tuple[DisposeOutcome, ...]
    files: int
    bytes: int
    frees_bytes: int
    """What the disk gets back for the set: files that only they share are in it, files that others hold are not."""

    @property
    def plans(self) -> tuple[DisposePlan, ...]:
        return tuple(outcome.plan for outcome in self.outcomes if outcome.plan is not None)

    @property
    def refused(self) -> tuple[DisposeOutcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.refusal is not None)


def disposal(outcomes: tuple[DisposeOutcome, ...], frees_bytes: int) -> Disposal:
    """The outcomes with their totals."""
    plans = [outcome.plan for outcome in outcomes if outcome.plan is not None]
    return Disposal(outcomes, sum(plan.files for plan in plans), sum(plan.bytes for plan in plans), frees_bytes)
