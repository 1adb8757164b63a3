"""Runs that schedules ask for, of jobs that end by themselves: each goes on from the job's checkpoint, one at a time."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job, Run
from pipelines.domain.runs import RunState
from pipelines.domain.schedules import Attempt, Outcome, Schedule, of_runs
from pipelines.verbs.resume import Resume
from pipelines.verbs.verb import Works
from pipelines.words import restarts as words
from pipelines.workspace import events, resumes, runs
from pipelines.workspace.schedules.work import ScheduledWork
from pipelines.workspace.tickets import Ticket

POISONED = "run.poisoned"


class Runs(ScheduledWork):
    """Begins a job that has ended, unless a poison batch stopped it: then somebody has to."""

    at_once, needs_run = 4, False
    noun, counted, made_up = "run", "run", "one run is begun now"

    def timed(self, schedule: Schedule) -> Schedule:
        return of_runs(schedule)

    def last(self, job: Job) -> Attempt | None:
        return job.began

    def kept(self, job: Job, attempt: Attempt | None) -> Job:
        return replace(job, began=attempt)

    def works(self, job: JobName) -> Works:
        return Works("resume", job)

    def attempt(self, job: JobName, due_ms: int, ticket: Ticket) -> Attempt:
        """What comes of the time. A run that a server began for it, and died before it could say so, counts."""
        newest = runs.newest(self.context, job)
        if newest is not None and newest.created_ms >= due_ms:
            return Attempt(due_ms, self.context.now_ms(), Outcome.BEGUN, run=newest.id)
        if newest is not None and (newest.state.live or newest.state is RunState.RESTARTING):
            return Attempt(due_ms, self.context.now_ms(), Outcome.BUSY, run=newest.id)
        if newest is not None and newest.restart is not None and newest.restart.poison:
            raise _stopped(newest)
        run = resumes.planned(self.context, Resume(job), is_scheduled=True).do(ticket)
        return Attempt(due_ms, self.context.now_ms(), Outcome.BEGUN, run=run.id)

    def settled(self, job: JobName, failed: Attempt) -> Attempt | None:
        """None any more where somebody began it since."""
        newest = runs.newest(self.context, job)
        return None if newest is not None and newest.created_ms >= failed.at_ms else failed

    def result(self, attempt: Attempt) -> str:
        return attempt.run

    def done(self, job: JobName, attempt: Attempt, ticket: Ticket) -> None:
        if attempt.outcome is Outcome.BUSY:
            events.say(self.context, "run.passed-over", job, attempt.run, f"no scheduled run of {job}: {attempt.run} had not ended")

    def say_failed(self, job: JobName, attempt: Attempt) -> None:
        events.say(self.context, "run.unbegun", job, job, f"no scheduled run of {job}: {attempt.message}")


def _stopped(run: Run) -> Conflict:
    why = words.failed_at(run.restart) if run.restart is not None else ""
    message = f"a poison batch stopped {run.job}: {why}"
    return Conflict(POISONED, message, "Its schedule goes on once somebody has resumed it: with changed code, past that batch, or as it is")
