"""A pass over one job: does what `decide` decides, step by step, until nothing is left to do now."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Run, Wanted
from pipelines.domain.probations import MISSED
from pipelines.domain.processes import PROCESS_FILE, TERMINATED_FILE, Process
from pipelines.domain.resources import EXCEEDED
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.domain.runs import EXIT_FILE, EXIT_STATES, LOG_FILE, Exit, RunState
from pipelines.domain.supervision import (
    Action,
    FinishStop,
    Kill,
    RecordExit,
    Restart,
    Seen,
    Start,
    Terminate,
    decide,
    run_state,
)
from pipelines.domain.versions import Version
from pipelines.sandbox import members, temporary
from pipelines.sandbox.members import Member
from pipelines.supervisor import elsewhere, facts, held, processes, restarts
from pipelines.supervisor.afar import starting
from pipelines.supervisor.beside import Beside
from pipelines.supervisor.commands import Driver
from pipelines.supervisor.warmth import Warmth
from pipelines.workspace import environments, events, ingestion, returns, run_as, runs, stops, versions
from pipelines.workspace.context import Context

AT_ONCE = 4
"""At most this many steps of one job in a pass: an end is recorded and its stop finished without waiting for the next."""
STOPS_AT_ONCE, RETURNS_AT_ONCE = 4, 2
"""So many savepoints are taken side by side where many jobs stop, each mostly waiting for a disk; so many jobs go back side by side."""


class Reconciler:
    """Carries out decisions on processes and files."""

    def __init__(self, context: Context, driver: Driver, warmth: Warmth) -> None:
        self._context = context
        self._driver = driver
        self._warmth = warmth
        self.stopper = Beside("stop", STOPS_AT_ONCE)
        self.returner = Beside("return", RETURNS_AT_ONCE)
        self._said_where: set[RunId] = set()

    def reconcile(self, job: JobName) -> None:
        """One pass over a job; the caller holds it."""
        for _ in range(AT_ONCE):
            wanted = self._context.files.wanted(job)
            run = runs.find(self._context, wanted.run) if wanted.run else None
            if run is None:
                return
            seen, process = facts.look(self._context, run)
            self._note(wanted, run, seen, process)
            action = decide(wanted, seen, self._context.now_ms())
            if action is None or not self._act(action, run, process):
                return

    def _note(self, wanted: Wanted, run: Run, seen: Seen, process: Process | None) -> None:
        """The run's state in the catalog, while it lives; how it ended is `RecordExit`'s."""
        state = run_state(wanted, seen, self._context.now_ms())
        pid = process.pid if process else None
        self._say_where(run, seen, process)
        if run.state.live and state.live and (state, pid) != (run.state, run.pid):
            runs.update(self._context, run.id, state=state, pid=pid, started_ms=seen.started_ms)

    def _say_where(self, run: Run, seen: Seen, process: Process | None) -> None:
        """The event of a driver that lives on another host, once."""
        if not (seen.elsewhere and seen.alive and process) or run.id in self._said_where:
            return
        self._said_where.add(run.id)
        message = f"the driver of {run.job} lives on as process {process.pid} of host {seen.elsewhere}: a stop reaches it by its folder"
        events.say(self._context, "run.elsewhere", run.job, run.id, message)

    def _act(self, action: Action, run: Run, process: Process | None) -> bool:
        """Carries out `action`; whether to look again at once."""
        match action:
            case Start():
                return self._start(run)
            case Terminate():
                self._terminate(run, process)
                return False
            case Kill():
                self._kill(run, process)
                return False
            case RecordExit(exit_):
                if process is not None and starting.goes_on(self._context.layout.run(run.job, run.id)):
                    self._stand_again(run)
                    return False
                self._record(run, process, exit_)
                return True
            case Restart():
                if run.restart is not None and run.restart.back is not None:
                    self.returner.begin(run.job, partial(returns.go_back, self._context, run))
                    return False
                restarts.begin(self._context, run)
                return True
            case FinishStop(stop, savepoint):
                finish = partial(stops.finish, self._context, run.job, stop, with_savepoint=savepoint)
                if savepoint:
                    self.stopper.begin(run.job, finish)
                else:
                    finish()
                return False

    def _start(self, run: Run) -> bool:
        """(1) A driver that an interrupted start left behind is adopted; (2) else one is spawned; (3) it is recorded.

        A run whose driver cannot be started has failed: trying again is the user's decision.
        """
        self._context.files.check()
        folder = self._context.layout.run(run.job, run.id)
        frozen = versions.get(self._context, run.version)
        process = processes.find(folder)  # 1
        try:
            process = process or self._spawn(frozen, folder)  # 2
        except (OSError, TidemarkError) as error:
            self._record(run, None, _unstartable(error, self._context.now_ms()))
            return True
        self._context.files.write(folder / PROCESS_FILE, process)  # 3
        runs.update(self._context, run.id, state=RunState.STARTING, pid=process.pid, started_ms=process.began_ms)
        events.say(self._context, "run.started", run.job, run.id, f"the driver of {run.job} is up, process {process.pid}")
        self._driver.started(frozen)
        return False

    def _spawn(self, frozen: Version, folder: Path) -> Process:
        version = environments.entered(self._context, frozen)
        run_as.prepare(self._context, folder)
        spec = self._context.files.read(RunSpec, folder / SPEC_FILE)
        is_afar = starting.is_of(version)
        member = None if is_afar else self._warm(version, spec, folder)
        if member is not None:
            return processes.hand_over(member, self._driver.module, folder, processes.standing(spec, folder))
        command = starting.command(version) if is_afar else self._driver.command(version)
        return held.spawn(self._context, command, folder, self._driver.environ(version), spec)

    def _warm(self, version: Version, spec: RunSpec, folder: Path) -> Member | None:
        """A Spark that is up already, where one fits; none for a run that was begun before, and for one that is held to limits, which hold
        from the driver's first moment on."""
        if not self._driver.module or not self._context.sparks.drivers:
            return None
        self._warmth.began(version.runtime, spec)
        if spec.resources.are_limited or (folder / LOG_FILE).exists():
            return None
        return self._context.sparks.take(version.runtime, spec.master, spec.conf)

    def _expect(self, run: Run, folder: Path) -> None:
        version = versions.get(self._context, run.version)
        if version.requirements and environments.is_missing(self._context, version):
            return
        self._warmth.fails(environments.entered(self._context, version).runtime, self._context.files.read(RunSpec, folder / SPEC_FILE))

    def _terminate(self, run: Run, process: Process | None) -> None:
        folder = self._context.layout.run(run.job, run.id)
        by_file = elsewhere.is_elsewhere(process)
        self._context.files.write(folder / TERMINATED_FILE, facts.Terminated(self._context.now_ms(), by_file))
        if process is not None:
            processes.terminate(process)

    def _kill(self, run: Run, process: Process | None) -> None:
        folder = self._context.layout.run(run.job, run.id)
        if process is None:
            return
        can_end = starting.goes_on(folder) and processes.alive(process)
        if not can_end or starting.end(folder, self._context.now_ms()):
            processes.kill(process, folder)

    def _stand_again(self, run: Run) -> None:
        """A driver on the cluster goes on although the process that stood for it here is gone."""
        self._context.files.check()
        folder = self._context.layout.run(run.job, run.id)
        process = self._spawn(versions.get(self._context, run.version), folder)
        self._context.files.write(folder / PROCESS_FILE, process)
        runs.update(self._context, run.id, pid=process.pid)
        events.say(self._context, "run.stood_for", run.job, run.id, f"process {process.pid} stands for the driver of {run.job} from now on")

    def _record(self, run: Run, process: Process | None, ended: Exit) -> None:
        """The end of a run: (1) its file, (2) what the driver wrote last, (3) what becomes of the job, (4) the catalog, (5) the events."""
        folder = self._context.layout.run(run.job, run.id)
        if self._context.files.exit(run.job, run.id) is None or ended.error_class in (EXCEEDED, MISSED):
            self._context.files.write(folder / EXIT_FILE, ended)
        ingestion.follow(self._context, ingestion.of_run(self._context, run.job, run.id))
        stopping = self._context.files.wanted(run.job).stop is not None
        decision = restarts.after(self._context, run, ended, stopping=stopping)
        state = RunState.RESTARTING if decision and decision.at_ms is not None else EXIT_STATES[ended.reason]
        runs.update(self._context, run.id, state=state, ended_ms=ended.at_ms, exit=ended, restart=decision)
        why = ": ".join(filter(None, (ended.error_class, ended.message)))
        events.say(self._context, f"run.{ended.reason}", run.job, run.id, f"{run.job} {ended.reason}{f': {why}' if why else ''}")
        if decision is not None:
            restarts.say(self._context, run, decision)
        if state is RunState.RESTARTING:
            self._expect(run, folder)
        held.release(self._context, folder)
        temporary.remove(folder)
        if process is not None:
            processes.forget(process)
        if process is not None and process.home:
            members.remove(Path(process.home))


def _unstartable(error: OSError | TidemarkError, now_ms: int) -> Exit:
    if isinstance(error, TidemarkError):
        return Exit("failed", None, error.code, f"{error.message}. {error.hint}", now_ms)
    return Exit("failed", None, type(error).__name__, f"the driver could not be started: {error}", now_ms)
