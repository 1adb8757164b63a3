"""Takes savepoints at the times of schedules, in threads of its own: the supervisor's other jobs never wait for one.

A time belongs to a job while it runs. Times that passed while it did not, or while no server ran, are said as one event, and made up for
by one savepoint.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor

from pipelines.catalog import jobs as job_rows
from pipelines.catalog import runs as run_rows
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job, Run
from pipelines.domain.runs import RunState
from pipelines.domain.schedules import Outcome, Schedule, over
from pipelines.words import schedules as words
from pipelines.workspace import events, schedule_times, scheduled_takes, schedules
from pipelines.workspace.context import Context
from pipelines.workspace.schedule_times import Passed
from pipelines.workspace.scheduled_takes import Takes

log = logging.getLogger("tidemark.schedules")
AT_ONCE = 2
"""So many savepoints are taken by schedules at the same time; others wait for their turn."""
LATE_MS = 60_000
"""A time that passed longer ago was missed; one that another was still taken at, or that a pass came a little late to, was not."""
RUNS = (RunState.RUNNING, RunState.WATCHED)


class Scheduler:
    """Attends to the schedules of one workspace."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._began_ms = context.now_ms()
        self._takes = Takes(context)
        self._pool = ThreadPoolExecutor(AT_ONCE, "schedule")
        self._working: dict[JobName, Future[None]] = {}
        self._begun_ms: dict[JobName, int] = {}
        """Times that were begun, also where nothing can be written down of what came of them."""
        self._complained: dict[JobName | None, str] = {}

    def tick(self) -> None:
        """Begins what is due. An error in it becomes an event, once; that of one job does not keep others from their times."""
        try:
            self._reap()
            usual = self._context.files.usual_schedule()
            for job, run in self._running():
                self._attend(job, run, over(job.schedule, usual))
            self._complained.pop(None, None)
        except TidemarkError as error:
            self._complain(None, error)

    def close(self) -> None:
        """Cancels what is under way, and waits for it; the next server attends to those times."""
        self._takes.end()
        self._pool.shutdown(cancel_futures=True)

    def _attend(self, job: Job, run: Run, schedule: Schedule) -> None:
        if job.name in self._working:
            return
        try:
            if schedule.times:
                self._begin(job, run, schedule)
            elif job.scheduled is not None and job.scheduled.outcome is Outcome.FAILED:
                self._working[job.name] = self._pool.submit(schedules.attended, self._context, job.name, None)
            self._complained.pop(job.name, None)
        except TidemarkError as error:
            self._complain(job.name, error)

    def _begin(self, job: Job, run: Run, schedule: Schedule) -> None:
        attended_ms, now_ms = self._attended_ms(job, schedule), self._context.now_ms()
        if passed := schedule_times.passed(schedule, attended_ms, now_ms):
            if missed := schedule_times.passed(schedule, attended_ms, now_ms - LATE_MS):
                self._say_missed(run, missed)
            self._begun_ms[job.name] = passed.last_ms
            self._working[job.name] = self._pool.submit(self._takes.take, job.name, passed.last_ms)

    def _running(self) -> list[tuple[Job, Run]]:
        """Jobs whose newest run runs, or that run elsewhere."""
        with self._context.catalog.reading() as reader:
            jobs, live = job_rows.listed(reader), run_rows.live(reader)
            newest = {run.job: run for run in reversed(live)}
            newest |= {job.name: run for job in jobs if job.attached and (run := run_rows.newest(reader, job.name))}
        return [(job, newest[job.name]) for job in jobs if job.name in newest and newest[job.name].state in RUNS]

    def _say_missed(self, run: Run, missed: Passed) -> None:
        said = words.missed(missed.count, self._reason(run, missed), at_least=missed.count >= schedule_times.MOST_COUNTED)
        events.say(self._context, "savepoint.missed", run.job, run.id, f"{run.job}: {said}")

    def _reason(self, run: Run, missed: Passed) -> str:
        if run.started_ms is not None and missed.first_ms < run.started_ms:
            return "the job did not run"
        return "no server ran" if missed.first_ms < self._began_ms else "the server was busy, most likely with the one before"

    def _reap(self) -> None:
        """Lets go of what has ended. What nobody expected is an event, and the time counts as attended to."""
        for job in [job for job, future in self._working.items() if future.done()]:
            error = self._working.pop(job).exception()
            if error is not None:
                log.error("the scheduled savepoint of %s", job, exc_info=error)
                scheduled_takes.failed(self._context, job, self._context.now_ms(), "internal", f"{type(error).__name__}: {error}")

    def _complain(self, job: JobName | None, error: TidemarkError) -> None:
        if self._complained.get(job) != error.message:
            self._complained[job] = error.message
            whose = f"the schedule of {job} is" if job else "schedules are"
            events.say(self._context, "supervisor.failed", job, "", f"{whose} not attended to: {error.message}. {error.hint}")

    def _attended_ms(self, job: Job, schedule: Schedule) -> int:
        """No time until then is of interest: it was attended to, or there was no such schedule yet, or no such job."""
        last = max(job.scheduled.due_ms if job.scheduled else 0, self._begun_ms.get(job.name, 0))
        return max(last, schedule.since_ms or 0, job.created_ms)
