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
from pipelines.workspace.context import Context


def dispose_many(context: Context, named: Sequence[str], *, dry_run: bool) -> Disposal:
    """One outcome a savepoint, in the order named; with `dry_run` nothing is deleted. Invalid (`dispose.nothing`) for none.

    What the set frees is counted by inode before; afterwards it is what each gave back as it went, which is the same.
    """
    if not named:
        raise Invalid("dispose.nothing", "No savepoint was named", "Name one or more.")
    outcomes = tuple(_outcomes(context, named, dry_run))
    plans = [one.plan for one in outcomes if one.plan is not None]
    if dry_run:
        return disposal(outcomes, space.frees_together(context.library, [plan.savepoint for plan in plans]))
    return disposal(outcomes, sum(plan.frees_bytes for plan in plans))


def _outcomes(context: Context, named: Sequence[str], dry_run: bool) -> Iterator[DisposeOutcome]:
    """Names are looked up first: once the first is gone, the beginning of an id may be that of another."""
    found = [_found(context, name) for name in named]
    known: set[SavepointId] = set()
    for one in found:
        if isinstance(one, DisposeOutcome):
            yield one
        elif one.id not in known:
            known.add(one.id)
            yield _outcome(context, one.id, dry_run)


def _found(context: Context, name: str) -> Savepoint | DisposeOutcome:
    try:
        return savepoints.get(context, name)
    except TidemarkError as error:
        return DisposeOutcome(name, None, refusal(error))


def _outcome(context: Context, savepoint: SavepointId, dry_run: bool) -> DisposeOutcome:
    try:
        plan = savepoints.dispose(context, savepoint, dry_run=dry_run)
        if dry_run and plan.blockers:
            raise disposing.in_use(savepoint, plan.blockers)
    except TidemarkError as error:
        return DisposeOutcome(savepoint, None, refusal(error))
    return DisposeOutcome(savepoint, plan)
