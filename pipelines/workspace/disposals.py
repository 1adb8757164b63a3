"""Disposing of several savepoints: each by itself, so that one that is refused keeps no other; freed bytes are counted for the set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.domain.disposals import Disposal, DisposeOutcome, disposal, refusal
from pipelines.domain.errors import Invalid, TidemarkError
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import dispose as disposing
from pipelines.savepoint import space
from pipelines.workspace import savepoints
from pipelines.workspace.parts import Parts


def dispose_many(parts: Parts, named: Sequence[str], *, dry_run: bool) -> Disposal:
    """One outcome a savepoint, in the order named; with `dry_run` nothing is deleted. Invalid (`dispose.nothing`) for none.

    What the set frees is counted by inode before; afterwards it is what each gave back as it went, which is the same.
    """
    if not named:
        raise Invalid("dispose.nothing", "No savepoint was named", "Name one or more.")
    outcomes = tuple(_outcomes(parts, named, dry_run))
    plans = [one.plan for one in outcomes if one.plan is not None]
    if dry_run:
        return disposal(outcomes, space.frees_together(parts.library, [plan.savepoint for plan in plans]))
    return disposal(outcomes, sum(plan.frees_bytes for plan in plans))


def _outcomes(parts: Parts, named: Sequence[str], dry_run: bool) -> Iterator[DisposeOutcome]:
    """Names are looked up first: once the first is gone, the beginning of an id may be that of another."""
    found = [_found(parts, name) for name in named]
    known: set[SavepointId] = set()
    for one in found:
        if isinstance(one, DisposeOutcome):
            yield one
        elif one.id not in known:
            known.add(one.id)
            yield _outcome(parts, one.id, dry_run)


def _found(parts: Parts, name: str) -> Savepoint | DisposeOutcome:
    try:
        return savepoints.get(parts, name)
    except TidemarkError as error:
        return DisposeOutcome(name, None, refusal(error))


def _outcome(parts: Parts, savepoint: SavepointId, dry_run: bool) -> DisposeOutcome:
    try:
        plan = savepoints.dispose(parts, savepoint, dry_run=dry_run)
        if dry_run and plan.blockers:
            raise disposing.in_use(savepoint, plan.blockers)
    except TidemarkError as error:
        return DisposeOutcome(savepoint, None, refusal(error))
    return DisposeOutcome(savepoint, plan)
