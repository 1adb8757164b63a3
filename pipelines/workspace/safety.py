"""Safety savepoints: taken by a resume first, so that a step back in time or an upgrade loses nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from pipelines.domain.errors import Conflict, TidemarkError
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Reason
from pipelines.domain.watch import Watch
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
    return Safety(take) if is_past and not _is_kept(context, job, batches) else NOTHING


def before_an_upgrade(context: Context, newest: Run) -> Safety:
    """The safety savepoint of an upgrade: the present point of the old version, unless it is saved already."""
    job, version = newest.job, newest.version
    take = _present(context, job, f"the last of version {version}", Reason.BEFORE_UPGRADE)
    if isinstance(take, TidemarkError):
        return Safety(None, f"no savepoint before the upgrade: {take.message}", job, version)
    return Safety(take) if not _is_kept(context, job, take.plan.batches) else NOTHING


def keep(context: Context, safety: Safety, watch: Watch) -> None:
    """Takes the safety savepoint; writes an event where none can be taken."""
    if safety.take is not None:
        savepoints.publish(context, safety.take, watch)
    elif safety.skipped:
        events.say(context, "savepoint.skipped", safety.job, safety.subject, safety.skipped)


def _present(context: Context, job: JobName, label: str, reason: Reason) -> PlannedTake | TidemarkError:
    try:
        return savepoints.planned_take(context, job, Take(job, label=label), reason)
    except TidemarkError as error:
        return error


def _is_kept(context: Context, job: JobName, batches: Mapping[str, int]) -> bool:
    """Whether the newest run's present point is a savepoint already (of its stop)."""
    newest = runs.newest(context, job)
    return any(
        newest is not None
        and savepoint.run == newest.id
        and {image.query: image.batch for image in savepoint.queries if image.begun} == dict(batches)
        for savepoint in savepoints.newest_first(context, job)
    )


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
