"""Disposing of several savepoints: each by itself, so that one that is refused keeps no other; freed bytes are counted for the set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.domain.disposals import Disposal, DisposeOutcome, disposal
from pipelines.domain.errors import Invalid, TidemarkError, refusal
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import dispose as disposing
from pipelines.savepoint import space
from pipelines.verbs.dispose import Dispose
from pipelines.workspace import savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans


@plans(Dispose)
def plan(context: Context, change: Dispose) -> Planned[Disposal, Disposal]:
    """One outcome a savepoint, in the order named; Invalid (`dispose.nothing`) for none.

    What the set frees is counted by inode before; afterwards it is what each gave back as it went, which is the same.
    """
    if not change.savepoints:
        raise Invalid("dispose.nothing", "No savepoint was named", "Name one or more.")
    outcomes = tuple(_outcomes(context, change.savepoints))
    plans = [outcome.plan for outcome in outcomes if outcome.plan is not None]
    frees = space.frees_together(context.library, [plan.savepoint for plan in plans])
    planned = disposal(outcomes, frees)
    return Planned(planned, lambda _: _dispose(context, planned))


def _outcomes(context: Context, names: Sequence[str]) -> Iterator[DisposeOutcome]:
    """Plans each disposal. All names are resolved first: once a savepoint is gone, the beginning of its id may match another."""
    planned: set[SavepointId] = set()
    for name in names:
        try:
            savepoint = savepoints.get(context, name)
        except TidemarkError as error:
            yield DisposeOutcome(name, None, refusal(error))
            continue
        if savepoint.id not in planned:
            planned.add(savepoint.id)
            yield _planned(context, savepoint.id)


def _planned(context: Context, savepoint: SavepointId) -> DisposeOutcome:
    try:
        plan = disposing.plan(context.library, savepoint, context.now_ms())
        if plan.blockers:
            raise disposing.in_use(savepoint, plan.blockers)
    except TidemarkError as error:
        return DisposeOutcome(savepoint, None, refusal(error))
    return DisposeOutcome(savepoint, plan)


def _dispose(context: Context, planned: Disposal) -> Disposal:
    """Deletes each savepoint that is not refused, in the order of the plan."""
    outcomes = tuple(outcome if outcome.plan is None else _disposed(context, outcome.plan.savepoint) for outcome in planned.outcomes)
    return disposal(outcomes, sum(outcome.plan.frees_bytes for outcome in outcomes if outcome.plan is not None))


def _disposed(context: Context, savepoint: SavepointId) -> DisposeOutcome:
    try:
        return DisposeOutcome(savepoint, savepoints.dispose(context, savepoints.get(context, savepoint)))
    except TidemarkError as error:
        return DisposeOutcome(savepoint, None, refusal(error))
