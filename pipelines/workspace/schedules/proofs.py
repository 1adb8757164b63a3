"""Proofs that schedules ask for: of each job's newest scheduled savepoint, one at a time, within limits of time and processors, at a low
priority."""

from __future__ import annotations

import os
from dataclasses import replace

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.domain.operations import DAMAGED
from pipelines.domain.retention import scheduled_of
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.schedules import PROOF_CPUS, Attempt, Outcome, Schedule, of_proofs
from pipelines.domain.trust import Trust, Verification
from pipelines.sandbox.pool import Pool
from pipelines.sandbox.processes import Share
from pipelines.verbs.verb import Works
from pipelines.workspace import events, savepoints, schedules, verifications
from pipelines.workspace.context import Context
from pipelines.workspace.schedules.work import ScheduledWork
from pipelines.workspace.tickets import Ticket

LIMIT_VARIABLE = "TIDEMARK_PROOF_LIMIT_S"
LIMIT_S = 1_800.0
"""Of a schedule that says nothing of it; from the environment, where that says so."""
LATE = "Prove it with `verify --level proved`, which has no such limit, or give it more with `schedule --proof-limit`."
NICENESS = 10
"""What the Spark of such a proof leaves to everything else: between the usual 0 and 19, which would hardly get on beside busy jobs."""
DAMAGE = "proof.damage"
GONE = "it was disposed of"
CODE_FAILED = "proof.code"


class Proofs(ScheduledWork):
    """Proves a savepoint, whether its job runs or not; not again one that is proved."""

    at_once, needs_run = 1, False
    noun, counted, made_up = "proof", "proof", "the newest scheduled savepoint is proved now, if it is not yet"

    def timed(self, schedule: Schedule) -> Schedule:
        return of_proofs(schedule)

    def last(self, job: Job) -> Attempt | None:
        return job.proved

    def kept(self, job: Job, attempt: Attempt | None) -> Job:
        return replace(job, proved=attempt)

    def works(self, job: JobName) -> Works:
        newest = _newest(self.context, job)
        return Works("prove", job, newest.id if newest else "")

    def attempt(self, job: JobName, due_ms: int, ticket: Ticket) -> Attempt:
        newest = _newest(self.context, job)
        if newest is None:
            return Attempt(due_ms, self.context.now_ms(), Outcome.NOTHING)
        if _is_proved(newest):
            return Attempt(due_ms, self.context.now_ms(), Outcome.UNCHANGED, newest.id)
        schedule = schedules.holding(self.context, job)
        beside = replace(self.context, sparks=Pool(share=Share(NICENESS, schedule.proof_cpus or PROOF_CPUS)))
        limit_s = schedule.proof_limit_ms / 1_000 if schedule.proof_limit_ms else float(os.environ.get(LIMIT_VARIABLE, LIMIT_S))
        answer = verifications.prove(beside, newest, ticket, lambda: ticket.limit(limit_s, LATE))
        return _told(answer, due_ms, self.context.now_ms())

    def settled(self, job: JobName, failed: Attempt) -> Attempt:
        """None any more where the newest scheduled savepoint is proved by now, or the one that is not was disposed of."""
        newest = _newest(self.context, job)
        if newest is not None and _is_proved(newest):
            return replace(failed, outcome=Outcome.UNCHANGED, savepoint=newest.id, code="", message="")
        if failed.savepoint and failed.savepoint not in [savepoint.id for savepoint in savepoints.newest_first(self.context, job)]:
            return replace(failed, outcome=Outcome.OPEN, code="", message=GONE)
        return failed

    def result(self, attempt: Attempt) -> str:
        """As of any proof: the level reached."""
        if attempt.code == DAMAGE:
            return DAMAGED
        return Trust.PROVED if attempt.outcome in (Outcome.PROVED, Outcome.UNCHANGED) else Trust.INTACT

    def done(self, job: JobName, attempt: Attempt, ticket: Ticket) -> None:
        if attempt.outcome is Outcome.FAILED:
            self.say_failed(job, attempt)
        elif attempt.outcome is Outcome.OPEN:
            events.say(self.context, "proof.open", job, attempt.savepoint, f"{attempt.savepoint} of {job} is not proved: {attempt.message}")

    def say_failed(self, job: JobName, attempt: Attempt) -> None:
        what = attempt.savepoint or "the newest scheduled savepoint"
        events.say(self.context, "proof.failed", job, attempt.savepoint or job, f"the proof of {what} of {job} failed: {attempt.message}")


def _newest(context: Context, job: JobName) -> Savepoint | None:
    return next(iter(scheduled_of(savepoints.newest_first(context, job))), None)


def _is_proved(savepoint: Savepoint) -> bool:
    return not savepoint.damaged_files and Trust.PROVED in (savepoint.trust, *savepoint.levels)


def _told(answer: Verification, due_ms: int, now_ms: int) -> Attempt:
    """Damage, and code that fails on the restored state, are failures; sources that have nothing new to run a batch with are none."""
    if answer.damages:
        worst = answer.damages[0]
        return Attempt(due_ms, now_ms, Outcome.FAILED, answer.savepoint, DAMAGE, f"{worst.path}: {worst.message}")
    if answer.reached is Trust.PROVED:
        return Attempt(due_ms, now_ms, Outcome.PROVED, answer.savepoint)
    note, failed = (answer.proof.note, answer.proof.failed) if answer.proof else ("", False)
    outcome, code = (Outcome.FAILED, CODE_FAILED) if failed else (Outcome.OPEN, "")
    return Attempt(due_ms, now_ms, outcome, answer.savepoint, code, note)
