"""The supervisor: brings every job to its wanted state, one pass at a time; and the thread that repeats the passes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from pipelines.catalog import operations as operation_rows
from pipelines.catalog import runs as run_rows
from pipelines.catalog.connection import Kept, Reader
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.supervisor.alerts import Alerter
from pipelines.supervisor.commands import SPARK, Driver
from pipelines.supervisor.fronts import Trimmer
from pipelines.supervisor.holdings import Asker
from pipelines.supervisor.probations import Watch
from pipelines.supervisor.quiet import Quiet
from pipelines.supervisor.reconciler import Reconciler
from pipelines.supervisor.schedules import WORKS, Scheduler
from pipelines.supervisor.sizes import Sampler
from pipelines.supervisor.warmth import Warmth
from pipelines.supervisor.watcher import Watcher
from pipelines.workspace import changeovers, events, ingestion
from pipelines.workspace.workspace import Workspace

INTERVAL_S = 0.5
log = logging.getLogger("tidemark.supervisor")


class Supervisor:
    """Looks after the drivers of one workspace. The catalog's lock keeps a second process from doing the same."""

    def __init__(self, workspace: Workspace, driver: Driver = SPARK) -> None:
        self._context = workspace.context
        self._known = Kept(workspace.context.catalog, _to_attend)
        self.warmth = Warmth(workspace.context.sparks)
        self._reconciler = Reconciler(workspace.context, driver, self.warmth)
        self._quiet = Quiet(workspace.context)
        self._probations = Watch(workspace.context)
        self._sampler = Sampler(workspace.context)
        self._trimmer = Trimmer(workspace.context)
        self._watcher = Watcher(workspace.context, self._sampler)
        self._complained: dict[JobName, str] = {}

    def tick(self) -> None:
        """One pass over every job that has a live run, a stop to finish or a restart to come, and over those that are only watched."""
        live, ending = self._known.now()
        self._follow(list(live.values()))
        for job in sorted(live.keys() | ending):
            self._attend(job, live.get(job), is_ending=job in ending)
        self._quiet.keep({run.id for run in live.values()})
        self._probations.keep({run.id for run in live.values()})
        self._watcher.tick()
        for run in self._watcher.runs:
            self._trimmer.trim(run)
        self._trimmer.trim_events()
        self._trimmer.keep({run.id for run in (*live.values(), *self._watcher.runs)})
        self.warmth.tick()

    def settle(self) -> None:
        """Waits for what is done beside the passes: the savepoints of stops, and jobs that go back."""
        self._reconciler.stopper.settle()
        self._reconciler.returner.settle()

    def close(self) -> None:
        """Waits for them, too; what was not begun is left to the next supervisor."""
        self._reconciler.stopper.close()
        self._reconciler.returner.close()

    def _follow(self, live: list[Run]) -> None:
        ingestion.workspace_events(self._context)
        ingestion.follow(self._context, [source for run in live for source in ingestion.of_run(self._context, run.job, run.id)])

    def _attend(self, job: JobName, live: Run | None, *, is_ending: bool) -> None:
        """One job's pass. An error in it becomes an event of that job, once, and does not keep other jobs from their pass."""
        try:
            with self._context.trying(job) as mine:
                if mine:
                    self._reconcile(job, live)
            if is_ending:
                changeovers.go_on(self._context, job)
            if live is not None:
                self._sampler.sample(live)
                self._trimmer.trim(live)
            self._complained.pop(job, None)
        except Exception as error:  # noqa: BLE001  whatever it is, the other jobs go on
            self._complain(job, error)

    def _reconcile(self, job: JobName, live: Run | None) -> None:
        if live is None:
            self._reconciler.reconcile(job)
        elif not self._quiet.is_so(live):
            mark = self._quiet.mark(live)
            self._reconciler.reconcile(job)
            self._quiet.note(live, mark)
        if live is not None and self._probations.look(live):
            self._quiet.forget(live.id)
            self._context.changed.set()

    def _complain(self, job: JobName, error: Exception) -> None:
        message = f"{type(error).__name__}: {error}"
        if self._complained.get(job) != message:
            self._complained[job] = message
            log.error("job %s", job, exc_info=error, extra={"job": job})
            events.say(self._context, "supervisor.failed", job, "", message)


def _to_attend(reader: Reader) -> tuple[dict[JobName, Run], set[JobName]]:
    """The live run of each job that has one; jobs with an operation under way, or a restart to come."""
    live = {run.job: run for run in reversed(run_rows.live(reader))}
    return live, {operation.job for operation in operation_rows.running(reader)} | run_rows.restarting(reader)


class SupervisorLoop:
    """A thread that ticks every `interval` seconds, and at once when something was asked for. Stopping it leaves drivers running."""

    def __init__(
        self,
        workspace: Workspace,
        interval: float = INTERVAL_S,
        driver: Driver = SPARK,
        check: Callable[[], object] = lambda: None,
        *,
        takes_over: bool = False,
    ) -> None:
        """`check` is called before each pass; what it raises keeps the pass from being made. `takes_over`: from a server that is gone."""
        self._check = check
        self._takes_over = takes_over
        self._supervisor = Supervisor(workspace, driver)
        self._context = workspace.context
        self._changed = workspace.changed
        self._interval = interval
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._passed_s = time.monotonic()

    def start(self) -> None:
        if self._thread is None:
            self._ended.clear()
            self._thread = threading.Thread(target=self._work, name="supervisor", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the pass that it is in."""
        if self._thread is not None:
            self._ended.set()
            self.wake()
            self._thread.join()
            self._thread = None

    def silence_s(self) -> float:
        """Seconds since its last pass that nothing broke off, or since it was made."""
        return time.monotonic() - self._passed_s

    def wake(self) -> None:
        self._changed.set()

    def _work(self) -> None:
        schedulers, alerter = [Scheduler(self._context, work) for work in WORKS], Alerter(self._context)
        asker = Asker(self._context)
        alerter.start()
        asker.start()
        self._supervisor.warmth.begin(takes_over=self._takes_over)
        failure = ""
        while not self._ended.is_set():
            self._changed.clear()
            try:
                self._check()
                self._supervisor.tick()
                for scheduler in schedulers:
                    scheduler.tick()
                self._passed_s, failure = time.monotonic(), ""
            except Exception as error:
                if repr(error) != failure:
                    failure = repr(error)
                    log.exception("a pass failed")
            self._changed.wait(self._interval)
        self._supervisor.close()
        alerter.close()
        asker.close()
        for scheduler in schedulers:
            scheduler.close()
