"""Disposing of several savepoints: each by itself, so that one that is refused keeps no other; freed bytes are counted for the set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pipelines.domain.disposals import Disposal, DisposeOutcome, DisposePlan, disposal
from pipelines.domain.errors import Conflict, Invalid, TidemarkError, refusal
from pipelines.domain.ids import JobName, SavepointId
from pipelines.savepoint import dispose as disposing
from pipelines.savepoint import space
from pipelines.savepoint.space import Held
from pipelines.storage import folders
from pipelines.verbs.dispose import Dispose
from pipelines.workspace import homes, probations, savepoints
from pipelines.workspace.context import Context, Shelves
from pipelines.workspace.doers import Planned, plans


@plans(Dispose)
def plan(context: Context, change: Dispose) -> Planned[Disposal, Disposal]:
    """One outcome a savepoint, in the order named; Invalid (`dispose.nothing`) for none.

    Files are counted by inode, here alone: what the set frees, and afterwards what those freed of it that went.
    """
    if not change.savepoints:
        raise Invalid("dispose.nothing", "No savepoint was named", "Name one or more.")
    shelves = Shelves(context)
    planned, holdings = look(context, change.savepoints, shelves)
    return Planned(planned, lambda _: total(tuple(disposed(context, outcome, shelves) for outcome in planned.outcomes), holdings))


def look(context: Context, names: Sequence[str], shelves: Shelves) -> tuple[Disposal, Mapping[str, Held]]:
    """What disposing of these would do, and what each holds; for `total` and `disposed`, which do it."""
    holdings: dict[str, Held] = {}
    return total(tuple(_outcomes(context, names, holdings, shelves)), holdings), holdings


def total(outcomes: tuple[DisposeOutcome, ...], holdings: Mapping[str, Held]) -> Disposal:
    """The outcomes with what those that are not refused free together."""
    return disposal(outcomes, space.frees_together(holdings[outcome.savepoint] for outcome in outcomes if outcome.plan is not None))


def _outcomes(context: Context, names: Sequence[str], holdings: dict[str, Held], shelves: Shelves) -> Iterator[DisposeOutcome]:
    """Plans each disposal, and adds what it holds. All names are resolved first: once a savepoint is gone, the beginning of its id may
    match another."""
    planned: set[SavepointId] = set()
    ways_back = probations.ways_back(context)
    for name in names:
        try:
            savepoint = _named(context, name)
        except TidemarkError as error:
            yield DisposeOutcome(name, None, refusal(error))
            continue
        if savepoint not in planned:
            planned.add(savepoint)
            yield _planned(context, savepoint, ways_back, holdings, shelves)


def _named(context: Context, name: str) -> SavepointId:
    """The savepoint of a name; of one that no list shows, because its manifest is damaged or lost, its whole id."""
    if name in folders.children(context.library) or name in context.files.home_ids():
        return SavepointId(name)
    return savepoints.get(context, name).id


def _planned(
    context: Context, savepoint: SavepointId, ways_back: Mapping[SavepointId, JobName], holdings: dict[str, Held], shelves: Shelves
) -> DisposeOutcome:
    try:
        _refuse_way_back(ways_back, savepoint)
        if homes.gone(context, savepoint):
            holdings[savepoint] = Held(Counter())
            return DisposeOutcome(savepoint, DisposePlan(savepoint, 0, 0, 0))
        look = disposing.look(shelves.of(savepoint), savepoint, context.now_ms())
        if look.plan.blockers:
            raise disposing.in_use(savepoint, look.plan.blockers)
    except TidemarkError as error:
        return DisposeOutcome(savepoint, None, refusal(error))
    holdings[savepoint] = look.held
    return DisposeOutcome(savepoint, look.plan)


def _refuse_way_back(ways_back: Mapping[SavepointId, JobName], savepoint: SavepointId) -> None:
    """Raises Conflict (`savepoint.way_back`) for one that a job on probation would go back to."""
    job = ways_back.get(savepoint)
    if job is not None:
        message = f"Savepoint {savepoint} is the way back of {job}, whose changed code is on probation: it goes back there if that fails"
        hint = f"Wait until the probation is over (show {job}), or end it: stop {job}."
        raise Conflict("savepoint.way_back", message, hint)


def disposed(context: Context, planned: DisposeOutcome, shelves: Shelves) -> DisposeOutcome:
    """Deletes a savepoint that the plan did not refuse."""
    if planned.plan is None:
        return planned
    try:
        _refuse_way_back(probations.ways_back(context), SavepointId(planned.savepoint))
        savepoints.dispose(context, SavepointId(planned.savepoint), shelves)
    except TidemarkError as error:
        return DisposeOutcome(planned.savepoint, None, refusal(error))
    return planned
