"""Schedules: a job's is part of its `job.json`, the workspace's is `schedule.json`; each is replaced whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.domain.schedules import OFF, Given, Schedule, SchedulePlan, ScheduleState, changed, of_proofs, of_runs, over
from pipelines.verbs.schedule import SetSchedule, ShowSchedule
from pipelines.words import schedules as words
from pipelines.workspace import attachments, events, repairs, runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.schedules import job_ends, times

WORKSPACE = JobName("")
"""Stands for the workspace, where there is no job."""


@answers(ShowSchedule)
def show(context: Context, question: ShowSchedule) -> ScheduleState:
    """Raises NotFound (`job.not_found`)."""
    if not question.job:
        return _state(context, None, context.files.usual_schedule())
    return _state(context, repairs.known_job(context, runs.known(context, question.job)), context.files.usual_schedule())


@plans(SetSchedule)
def plan(context: Context, change: SetSchedule) -> Planned[ScheduleState, SchedulePlan]:
    """Raises NotFound, what `domain.schedules.changed` raises, and what `times.check` raises of what will hold."""
    name = runs.known(context, change.job) if change.job else WORKSPACE
    warnings = _of_runs(context, name, change.run_at or "")
    before, usual = _own(context, name), context.files.usual_schedule()
    after = _changed(context, before, usual if name else Schedule(), change.given())
    schedule = over(after, usual) if name else after
    plan = SchedulePlan(name, before, after, schedule, *_coming(context, schedule), warnings)
    return Planned(plan, lambda _: _set(context, name, change.given()))


def holding(context: Context, name: JobName) -> Schedule:
    """The schedule that holds for the job: its own over the workspace's."""
    return over(_own(context, name), context.files.usual_schedule())


def attended(context: Context, name: JobName, kept: Callable[[Job], Job]) -> None:
    """Keeps what came of the newest time of the job's schedule, which `kept` puts in; nothing of a job that was forgotten meanwhile."""
    with context.holding(name):
        if context.files.has_begun(name):
            repairs.save(context, kept(repairs.known_job(context, name)))


def _changed(context: Context, before: Schedule, usual: Schedule, given: Given) -> Schedule:
    after = changed(before, given, context.now_ms())
    times.check(over(after, usual), context.now_ms())
    return after


def _own(context: Context, name: JobName) -> Schedule:
    return repairs.known_job(context, name).schedule if name else context.files.usual_schedule()


def _set(context: Context, name: JobName, given: Given) -> ScheduleState:
    """Applies one change at a time to the newest schedule."""
    return _set_of_job(context, name, given) if name else _set_usual(context, given)


def _set_of_job(context: Context, name: JobName, given: Given) -> ScheduleState:
    usual = context.files.usual_schedule()
    with context.holding(name):
        job = repairs.known_job(context, name)
        after = _changed(context, job.schedule, usual, given)
        if after != job.schedule:
            job = replace(job, schedule=after, scheduled=None)
            repairs.save(context, job)
            text = words.spelt(over(after, usual))
            events.say(context, "job.schedule", name, name, f"what {name} does by itself: {text}")
    context.changed.set()
    return _state(context, job, usual)


def _set_usual(context: Context, given: Given) -> ScheduleState:
    with context.claiming("schedule"):
        before = context.files.usual_schedule()
        after = _changed(context, before, Schedule(), given)
        if after != before:
            context.files.write(context.layout.schedule_file, after)
            events.say(context, "workspace.schedule", None, "", f"savepoints by themselves, as is usual here: {words.spelt(after)}")
    context.changed.set()
    return _state(context, None, after)


def _state(context: Context, job: Job | None, usual: Schedule) -> ScheduleState:
    schedule = over(job.schedule, usual) if job else usual
    coming, proof_ms, run_ms = _coming(context, schedule)
    if job is None:
        return ScheduleState(WORKSPACE, usual, usual, schedule, coming, next_proof_ms=proof_ms)
    return ScheduleState(job.name, job.schedule, usual, schedule, coming, job.scheduled, proof_ms, job.proved, run_ms, job.began)


def _coming(context: Context, schedule: Schedule) -> tuple[tuple[int, ...], int | None, int | None]:
    """The next three times, the next proof and the next run."""
    now_ms = context.now_ms()
    proof_ms, run_ms = (times.following(of(schedule), now_ms) for of in (of_proofs, of_runs))
    return times.coming(schedule, now_ms), proof_ms, run_ms


def _of_runs(context: Context, name: JobName, run_at: str) -> tuple[str, ...]:
    """What is to be said of these times of runs. Raises Invalid (`schedule.run`) for those of every job, and Conflict for those of a job
    that runs elsewhere, or does not end (`schedule.endless`)."""
    if run_at and not name:
        raise Invalid("schedule.run", "No job was named that begins at these times", "Name the job: every job has its own times.")
    if not run_at or run_at == OFF:
        return ()
    attachments.refuse(context, name, "begun by a schedule")
    ends = job_ends.of_job(context, name)
    if ends.queries:
        message = f"{name} does not end by itself: {', '.join(ends.queries)} would run until somebody stops it, and no second run begins"
        raise Conflict("schedule.endless", message, "Give its queries trigger(availableNow=True), and resume it with that code first.")
    return () if ends.is_known else (f"it is not known whether {name} ends by itself: a run that does not end keeps later ones back",)
