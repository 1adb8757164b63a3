"""Safety savepoints: taken by a resume first, so that a step back in time or an upgrade loses nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from pipelines.domain.errors import Conflict, TidemarkError
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.restores import SinkPlan
from pipelines.domain.savepoints import Reason
from pipelines.domain.watch import Watch
from pipelines.savepoint import restored_sinks
from pipelines.verbs.take import Take
from pipelines.workspace import events, runs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.tickets import Cancelled

ON_THE_WAY = {Reason.BEFORE_RESUME, Reason.BEFORE_UPGRADE, Reason.REWIND}
"""Why a resume takes savepoints."""


@dataclass(frozen=True)
class Safety:
    """A savepoint to take first, if any; or why none can be taken, which stops nobody."""

    take: PlannedTake | None = None
    skipped: str = ""
    job: JobName | None = None
    subject: str = ""
    kept: SavepointId | None = None
    """The savepoint that has that point already."""

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.take.label,) if self.take else ()


NOTHING = Safety()


def before_going_back(context: Context, job: JobName, target: Mapping[str, int], place: str) -> Safety:
    """The safety savepoint of a step back to `target` (query -> batch): the present point, where it is past them."""
    take = _present(context, job, f"before the resume from {place}", Reason.BEFORE_RESUME)
    if isinstance(take, TidemarkError):
        return Safety(None, f"no savepoint before the resume: {take.message}", job, place)
    batches = take.plan.batches
    is_past = any(batches.get(query, -1) > batch for query, batch in target.items())
    return Safety(take) if is_past and _kept(context, job, batches) is None else NOTHING


def before_an_upgrade(context: Context, newest: Run) -> Safety:
    """The safety savepoint of an upgrade: the present point of the old version, unless it is saved already."""
    job, version = newest.job, newest.version
    take = _present(context, job, f"the last of version {version}", Reason.BEFORE_UPGRADE)
    if isinstance(take, TidemarkError):
        return Safety(None, f"no savepoint before the upgrade: {take.message}", job, version)
    kept = _kept(context, job, take.plan.batches)
    return Safety(kept=kept) if kept is not None else Safety(take)


def keep(context: Context, safety: Safety, watch: Watch) -> SavepointId | None:
    """Takes the safety savepoint, and answers with the one that has the point; writes an event where none can be taken."""
    if safety.take is not None:
        return savepoints.publish(context, safety.take, watch).id
    if safety.skipped:
        events.say(context, "savepoint.skipped", safety.job, safety.subject, safety.skipped)
    return safety.kept


def sinks(context: Context, safety: Safety) -> tuple[SinkPlan, ...]:
    """What becomes of the sinks where the job goes back to that point."""
    if safety.take is not None:
        images = [query.image for query in safety.take.look.gathered]
    else:
        images = list(savepoints.manifest(context, safety.kept).queries) if safety.kept is not None else []
    return tuple(restored_sinks.for_resume(image).plan for image in images)


def _present(context: Context, job: JobName, label: str, reason: Reason) -> PlannedTake | TidemarkError:
    try:
        return savepoints.planned_take(context, job, Take(job, label=label), reason)
    except TidemarkError as error:
        return error


def _kept(context: Context, job: JobName, batches: Mapping[str, int]) -> SavepointId | None:
    """The savepoint that has the newest run's present point already (of its stop)."""
    newest = runs.newest(context, job)
    kept = (
        savepoint.id
        for savepoint in savepoints.newest_first(context, job)
        if newest is not None
        and savepoint.run == newest.id
        and {image.query: image.batch for image in savepoint.queries if image.begun} == dict(batches)
    )
    return next(kept, None)


@contextmanager
def taken_back(context: Context, job: JobName) -> Iterator[None]:
    """Disposes of the savepoints of a cancelled resume; no one else takes any for its reasons while the job is held."""
    before = {savepoint.id for savepoint in savepoints.newest_first(context, job)}
    try:
        yield
    except Cancelled:
        for savepoint in savepoints.newest_first(context, job):
            if savepoint.id not in before and savepoint.reason in ON_THE_WAY:
                with suppress(Conflict):  # a fork of it is in the making
                    savepoints.dispose(context, savepoint.id)
        raise
