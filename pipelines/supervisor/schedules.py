"""Takes and proves savepoints, and begins jobs, at the times of schedules, in threads of its own: the supervisor's other
jobs never wait for that.

Times that passed while nobody could attend to them are said as one event, and made up for once.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor

from pipelines.catalog import jobs as job_rows
from pipelines.catalog import runs as run_rows
from pipelines.catalog.connection import Kept, Reader
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job, Run
from pipelines.domain.runs import RunState
from pipelines.domain.schedules import Outcome, Schedule, over
from pipelines.words import schedules as words
from pipelines.workspace import events
from pipelines.workspace.context import Context
from pipelines.workspace.schedules import times as schedule_times
from pipelines.workspace.schedules.job_runs import Runs
from pipelines.workspace.schedules.proofs import Proofs
from pipelines.workspace.schedules.takes import Takes
from pipelines.workspace.schedules.times import Passed
from pipelines.workspace.schedules.work import ScheduledWork

log = logging.getLogger("tidemark.schedules")
LATE_MS = 60_000
"""A time that passed longer ago was missed; one that another was still taken at, or that a pass came a little late to, was not."""
EARLY_APART_MS = 60_000
RUNS = (RunState.RUNNING, RunState.WATCHED)
WORKS: tuple[type[ScheduledWork], ...] = (Takes, Proofs, Runs)


class Scheduler:
    """Attends to the times that the schedules of one workspace have for one kind of work."""

    def __init__(self, context: Context, work: type[ScheduledWork] = Takes) -> None:
        self._context = context
        self._began_ms = context.now_ms()
        self._work = work(context)
        self._jobs = Kept(context.catalog, self._timed_jobs)
        self._pool = ThreadPoolExecutor(work.at_once, f"schedule-{work.noun}")
        self._working: dict[JobName, Future[None]] = {}
        self._begun_ms: dict[JobName, int] = {}
        """Times that were begun, also where nothing can be written down of what came of them."""
        self._complained: dict[JobName | None, str] = {}

    def tick(self) -> None:
        """Begins what is due. An error in it becomes an event, once; that of one job does not keep others from their times."""
        try:
            self._reap()
            usual = self._context.files.usual_schedule()
            for job, run in self._jobs.now():
                self._attend(job, run, self._work.timed(over(job.schedule, usual)))
            self._complained.pop(None, None)
        except TidemarkError as error:
            self._complain(None, error)

    def close(self) -> None:
        """Cancels what is under way, and waits for it; the next server attends to those times."""
        self._work.end()
        self._pool.shutdown(cancel_futures=True)

    def _attend(self, job: Job, run: Run | None, schedule: Schedule) -> None:
        if job.name in self._working:
            return
        try:
            if not (schedule.times and self._begin(job, run, schedule)):
                self._settle(job, has_times=bool(schedule.times))
            self._complained.pop(job.name, None)
        except TidemarkError as error:
            self._complain(job.name, error)

    def _settle(self, job: Job, *, has_times: bool) -> None:
        """A failure goes with the schedule, or when it is none any more."""
        last = self._work.last(job)
        if last is not None and last.outcome is Outcome.FAILED:
            kept = self._work.settled(job.name, last) if has_times else None
            if kept != last:
                self._working[job.name] = self._pool.submit(self._work.keep, job.name, kept)

    def _begin(self, job: Job, run: Run | None, schedule: Schedule) -> bool:
        """Whether a time was due."""
        attended_ms, now_ms = self._attended_ms(job, schedule), self._context.now_ms()
        if passed := schedule_times.passed(schedule, attended_ms, now_ms):
            if missed := schedule_times.passed(schedule, attended_ms, now_ms - LATE_MS):
                self._say_missed(job.name, run, missed)
            self._begun_ms[job.name] = passed.last_ms
            self._working[job.name] = self._pool.submit(self._work.attend, job.name, passed.last_ms)
        return passed is not None or self._begin_early(job, schedule, attended_ms, now_ms)

    def _begin_early(self, job: Job, schedule: Schedule, attended_ms: int, now_ms: int) -> bool:
        """Whether the work could not wait for its time; a blackout window holds for it, too."""
        due_ms = self._work.early_ms(job.name, schedule) if now_ms - attended_ms >= EARLY_APART_MS else None
        if due_ms is None or due_ms > now_ms or schedule_times.is_blackout(schedule, now_ms):
            return False
        self._begun_ms[job.name] = now_ms
        self._working[job.name] = self._pool.submit(self._work.attend, job.name, now_ms)
        return True

    def _timed_jobs(self, reader: Reader) -> list[tuple[Job, Run | None]]:
        """All jobs; where the work needs it, those whose newest run runs, or that run elsewhere."""
        jobs = job_rows.listed(reader)
        if not self._work.needs_run:
            return [(job, None) for job in jobs]
        newest = {run.job: run for run in reversed(run_rows.live(reader))}
        newest |= {job.name: run for job in jobs if job.attached and (run := run_rows.newest(reader, job.name))}
        return [(job, newest[job.name]) for job in jobs if job.name in newest and newest[job.name].state in RUNS]

    def _say_missed(self, job: JobName, run: Run | None, missed: Passed) -> None:
        at_least = missed.count >= schedule_times.MOST_COUNTED
        text = words.missed(missed.count, self._work.counted, self._reason(run, missed), self._work.made_up, at_least=at_least)
        events.say(self._context, f"{self._work.noun}.missed", job, run.id if run else job, f"{job}: {text}")

    def _reason(self, run: Run | None, missed: Passed) -> str:
        if run is not None and run.started_ms is not None and missed.first_ms < run.started_ms:
            return "the job did not run"
        return "no server ran" if missed.first_ms < self._began_ms else "the server was busy, most likely with the one before"

    def _reap(self) -> None:
        """Lets go of what has ended. What nobody expected is an event, and the time counts as attended to."""
        for job in [job for job, future in self._working.items() if future.done()]:
            error = self._working.pop(job).exception()
            if error is not None:
                log.error("the scheduled %s of %s", self._work.noun, job, exc_info=error, extra={"job": job})
                self._work.failed(job, self._context.now_ms(), "internal", f"{type(error).__name__}: {error}")

    def _complain(self, job: JobName | None, error: TidemarkError) -> None:
        if self._complained.get(job) != error.message:
            self._complained[job] = error.message
            noun = self._work.noun
            whose = f"the {noun} schedule of {job} is" if job else f"{noun} schedules are"
            events.say(self._context, "supervisor.failed", job, "", f"{whose} not attended to: {error.message}. {error.hint}")

    def _attended_ms(self, job: Job, schedule: Schedule) -> int:
        """No time until then is of interest: it was attended to, or there was no such schedule yet, or no such job."""
        last = self._work.last(job)
        return max(last.due_ms if last else 0, self._begun_ms.get(job.name, 0), schedule.since_ms or 0, job.created_ms)
