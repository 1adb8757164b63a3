"""Savepoints that schedules take: each prunes afterwards."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.errors import TidemarkError
from pipelines.domain.holdings import next_due_ms
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.domain.savepoints import QueryImage, Reason, Savepoint
from pipelines.domain.schedules import Attempt, Outcome, Schedule
from pipelines.verbs.prune import Prune
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Works
from pipelines.words import plans as words
from pipelines.workspace import events, prunes, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.schedules import times
from pipelines.workspace.schedules.work import ScheduledWork
from pipelines.workspace.stops import NOTHING_TO_SAVE
from pipelines.workspace.tickets import Ticket


class Takes(ScheduledWork):
    """Takes a savepoint of a job that runs, two at a time."""

    at_once, needs_run = 2, True
    noun, counted, made_up = "savepoint", "time", "one savepoint is taken now, if there is anything new"

    def timed(self, schedule: Schedule) -> Schedule:
        return schedule

    def last(self, job: Job) -> Attempt | None:
        return job.scheduled

    def kept(self, job: Job, attempt: Attempt | None) -> Job:
        return replace(job, scheduled=attempt)

    def works(self, job: JobName) -> Works:
        return Works("take", job)

    def attempt(self, job: JobName, due_ms: int, ticket: Ticket) -> Attempt:
        return _attempt(self.context, job, due_ms, ticket)

    def say_failed(self, job: JobName, attempt: Attempt) -> None:
        events.say(self.context, "savepoint.failed", job, job, f"no scheduled savepoint of {job}: {attempt.message}")

    def early_ms(self, job: JobName, schedule: Schedule) -> int | None:
        """Before the newest savepoint's sources let go of what it needs; where that is in a blackout window, before the window begins,
        unless the newest is of just then."""
        newest = next(iter(savepoints.newest_first(self.context, job)), None)
        due_ms = next_due_ms(newest.holdings, newest.created_ms) if newest else None
        if newest is None or due_ms is None:
            return None
        at_ms = times.at_latest(schedule, due_ms)
        return at_ms if newest.created_ms < at_ms else due_ms

    def done(self, job: JobName, attempt: Attempt, ticket: Ticket) -> None:
        if attempt.outcome is Outcome.TAKEN:
            prune(self.context, job, ticket)


def prune(context: Context, job: JobName, ticket: Ticket) -> None:
    """Deletes what is past what is kept; what fails is said, and tried again after the next one."""
    try:
        planned = prunes.plan(context, Prune(job))
        done = planned.do(ticket).disposal
    except TidemarkError as error:
        events.say(context, "prune.failed", job, job, f"scheduled savepoints of {job} could not be pruned: {error.message}")
        return
    if done.plans:
        events.say(context, "savepoint.pruned", job, job, f"pruned {words.disposed(done)} of {job}")
    for refused in done.refused:
        reason = refused.refusal.message if refused.refusal else ""
        events.say(context, "savepoint.kept", job, refused.savepoint, f"{refused.savepoint} is past what is kept, and stays: {reason}")


def _attempt(context: Context, job: JobName, due_ms: int, ticket: Ticket) -> Attempt:
    """What comes of the time. A savepoint that a server took for it, and died before it could say so, counts."""
    taken = savepoints.newest_first(context, job)
    earlier = next((savepoint for savepoint in taken if savepoint.reason is Reason.SCHEDULED and savepoint.created_ms >= due_ms), None)
    if earlier is not None:
        return Attempt(due_ms, context.now_ms(), Outcome.TAKEN, earlier.id)
    try:
        planned = savepoints.planned_take(context, job, Take(job), Reason.SCHEDULED)
    except TidemarkError as error:
        if error.code not in NOTHING_TO_SAVE:
            raise
        return Attempt(due_ms, context.now_ms(), Outcome.NOTHING)
    same = next((savepoint for savepoint in taken[:1] if _is_same(savepoint, planned)), None)
    if same is not None:
        return Attempt(due_ms, context.now_ms(), Outcome.UNCHANGED, same.id)
    return Attempt(due_ms, context.now_ms(), Outcome.TAKEN, savepoints.publish(context, planned, ticket).id)


def _is_same(savepoint: Savepoint, planned: PlannedTake) -> bool:
    """Whether the savepoint holds these very batches of this version. Without damage, that is: another one is worth its files then."""
    images = [contents.image for contents in planned.look.gathered]
    is_same = savepoint.version == planned.source.version.id and _places(savepoint.queries) == _places(images)
    return is_same and not savepoint.damaged_files


def _places(images: tuple[QueryImage, ...] | list[QueryImage]) -> set[tuple[str, str, int, int]]:
    """Each query's batch, and when it was planned: a job that went back counts its batches anew."""
    return {(image.query, image.query_id, image.batch, image.batch_timestamp_ms) for image in images}
