"""Pruning: scheduled savepoints that are past what is kept go, by the engine that disposes of any. What goes is judged once more when its
turn comes: somebody may have named it, or begun to build on it, since it was planned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pipelines.catalog import experiments as experiment_rows
from pipelines.catalog import jobs as job_rows
from pipelines.catalog import runs as run_rows
from pipelines.domain.disposals import DisposeOutcome
from pipelines.domain.errors import Conflict, TidemarkError, refusal
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.jobs import Job
from pipelines.domain.retention import Judged, Needs, PrunePlan, judge, scheduled_of
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.schedules import Schedule, over
from pipelines.savepoint import space
from pipelines.verbs.prune import Prune
from pipelines.workspace import disposals, probations, repairs, runs, savepoints
from pipelines.workspace.context import Context, Shelves
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.files import readable


@plans(Prune)
def plan(context: Context, change: Prune) -> Planned[PrunePlan, PrunePlan]:
    """Of a job, or of every job that there is; savepoints of forgotten jobs stay. Raises NotFound (`job.not_found`)."""
    names = [runs.known(context, change.job)] if change.job else context.files.job_names()
    needs = _needs(context)
    judged = [candidate for name in names for candidate in _judged(context, name, needs)]
    goes, stays = (tuple(candidate for candidate in judged if bool(candidate.stays) is kept) for kept in (False, True))
    shelves = Shelves(context)
    planned, holdings = disposals.look(context, [candidate.savepoint for candidate in goes], shelves)

    def work(_: object) -> PrunePlan:
        done = tuple(_disposed(context, outcome, shelves) for outcome in planned.outcomes)
        return PrunePlan(goes, stays, disposals.total(done, holdings))

    return Planned(PrunePlan(goes, stays, planned), work)


def _judged(context: Context, name: JobName, needs: Needs) -> tuple[Judged, ...]:
    limits = over(repairs.known_job(context, name).schedule, context.files.usual_schedule())
    if not (limits.keep or limits.keep_ms or limits.keep_bytes):
        return ()
    taken = savepoints.newest_first(context, name)
    return judge(taken, limits, needs, context.now_ms(), _disk_bytes(context, taken, limits))


def _disk_bytes(context: Context, taken: Sequence[Savepoint], limits: Schedule) -> Iterator[int]:
    """What each scheduled savepoint and the newer ones take together, the newest first, each file once; none where bytes do not matter."""
    if limits.keep_bytes is None:
        return
    together, shelves = space.Held(Counter()), Shelves(context)
    for savepoint in scheduled_of(taken):
        together.names.update(space.held(shelves.of(savepoint.id), savepoint.id).names)
        yield sum(node.bytes for node in together.names)


def _needs(context: Context) -> Needs:
    """What was made from savepoints. Jobs are read from their files: a variant of an experiment has one before it is listed."""
    with context.catalog.reading() as reader:
        listed, ran, experiments = job_rows.listed(reader), run_rows.listed(reader), experiment_rows.listed(reader)
    folders = [JobName(path.parent.name) for path in context.layout.jobs.glob("[!.]*/job.json")]
    jobs: list[Job] = [*listed, *readable(context.files.job, folders, [])]
    by = {run.from_savepoint: f"{run.job} was resumed from it" for run in ran if run.from_savepoint}
    by |= {job.origin.savepoint: f"{job.name} was forked from it" for job in jobs if job.origin}
    by |= {savepoint: f"{job} would go back to it" for savepoint, job in probations.ways_back(context).items()}
    by |= {experiment.savepoint: f"experiment {experiment.name} began with it" for experiment in experiments}
    return Needs(by)


def _disposed(context: Context, planned: DisposeOutcome, shelves: Shelves) -> DisposeOutcome:
    """Nobody changes what people say of the savepoint meanwhile; a fork in the making is refused by the engine itself."""
    savepoint = SavepointId(planned.savepoint)
    with context.claiming(f"annotation of {savepoint}"):
        try:
            _refuse_needed(context, savepoint)
        except TidemarkError as error:
            return DisposeOutcome(planned.savepoint, None, refusal(error))
        return disposals.disposed(context, planned, shelves)


def _refuse_needed(context: Context, savepoint: SavepointId) -> None:
    """Raises Conflict (`prune.stays`) for a savepoint that does not go any more."""
    judged = {candidate.savepoint: candidate for candidate in _judged(context, savepoints.get(context, savepoint).job, _needs(context))}
    if savepoint not in judged or judged[savepoint].stays:
        why = judged[savepoint].stays if savepoint in judged else "it is not past what is kept any more"
        raise Conflict("prune.stays", f"Savepoint {savepoint} stays: {why}", "Nothing is to be done; a person may dispose of it.")
