"""Decides the supervisor's next action on a run from its wanted and its seen state.

The order of a run's end is its correctness: its process ends, then what is left of its session is ended (a Spark that outlived its
driver could still write to the checkpoint), then the exit is recorded, then the stop that was asked for is carried through.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.hosts import LOST as HOST_LOST
from pipelines.domain.ids import RunId
from pipelines.domain.jobs import StopWanted, Wanted
from pipelines.domain.probations import MISSED
from pipelines.domain.resources import EXCEEDED
from pipelines.domain.runs import EXIT_STATES, Exit, RunState

SCRIPT_UP_MS = 1_000
"""A script without queries counts as running when its process has lasted this long."""
CANCEL_GRACE_MS = 2_000
"""From SIGTERM to SIGKILL of a cancelled run."""
STOP_PATIENCE_MS = 600_000
"""From SIGTERM to SIGKILL of a run that should stop at a batch boundary: batches may take minutes."""
LINGER_MS = 20_000
"""How long a driver that wrote its exit may take to go."""


@dataclass(frozen=True)
class Seen:
    """A run as its files and the operating system show it."""

    run: RunId
    started_ms: int | None = None
    """When its process came up; None for one that never did."""
    alive: bool = False
    remains: bool = False
    """Whether processes that the driver started outlive it; asked only of a driver that is gone."""
    exit: Exit | None = None
    """What the driver, or the supervisor in its place, recorded."""
    return_code: int | None = None
    """What the operating system said (a signal as its negative number); None for an adopted driver, whose parent is gone."""
    settled: bool = False
    """Whether the exit is in the catalog."""
    queries_up: bool = False
    streams: bool = True
    """Whether the script means to start queries."""
    terminated_ms: int | None = None
    """When this supervisor sent SIGTERM."""
    exceeded: str = ""
    """How it went beyond the memory that the job may have; empty where it did not."""
    missed: str = ""
    """Which limit of its probation it missed; empty for none."""
    is_cut_back: bool = False
    """Whether what it wrote is cut back after it missed one: nothing is lost with a batch that is ended."""
    elsewhere: str = ""
    """The host whose process its driver is, where that is another one: no signal reaches it."""
    is_lost: bool = False
    """Whether such a driver has no lock any more, which a file server may have taken from one that lives."""
    restart_ms: int | None = None
    """When the job's next run begins, after this one failed; None where none does."""


@dataclass(frozen=True)
class Start:
    """Start the run's driver."""


@dataclass(frozen=True)
class Terminate:
    """Ask the driver to stop at a batch boundary (SIGTERM; by its folder where it is another host's)."""


@dataclass(frozen=True)
class Kill:
    """End every process of the run's session (SIGKILL)."""


@dataclass(frozen=True)
class RecordExit:
    """Write how the run ended, tell it to the catalog and in an event."""

    exit: Exit


@dataclass(frozen=True)
class FinishStop:
    """Take the savepoint of a stop where one is wanted, and end its operation."""

    stop: StopWanted
    savepoint: bool


@dataclass(frozen=True)
class Restart:
    """Begin the job's next run."""


Action = Start | Terminate | Kill | RecordExit | FinishStop | Restart


def decide(wanted: Wanted, seen: Seen | None, now_ms: int) -> Action | None:
    """The next thing to do about the wanted run, None where all is as it should be; `seen` is None where no run is wanted."""
    if seen is None:
        return None
    if seen.settled:
        return _after(wanted.stop, seen, now_ms)
    if seen.alive:
        return _alive(wanted.stop, seen, now_ms)
    if seen.started_ms is None and seen.exit is None:
        return _unstarted(wanted.stop, now_ms)
    return _gone(wanted.stop, seen, now_ms)


def _after(stop: StopWanted | None, seen: Seen, now_ms: int) -> Action | None:
    if stop is not None:
        return FinishStop(stop, stop.savepoint and not stop.at_once)
    return Restart() if seen.restart_ms is not None and now_ms >= seen.restart_ms else None


def _unstarted(stop: StopWanted | None, now_ms: int) -> Action:
    return RecordExit(Exit("stopped", None, "", "stopped before it was started", now_ms)) if stop else Start()


def _alive(stop: StopWanted | None, seen: Seen, now_ms: int) -> Action | None:
    if seen.exceeded:
        return Kill()
    if seen.exit:
        if seen.elsewhere:
            return None
        return Kill() if now_ms - seen.exit.at_ms >= LINGER_MS else None
    if stop is None and not seen.missed:
        return None
    if seen.terminated_ms is None:
        return Terminate()
    if seen.elsewhere:
        return None
    patience_ms = CANCEL_GRACE_MS if (stop.at_once if stop else seen.is_cut_back) else STOP_PATIENCE_MS
    return Kill() if now_ms - seen.terminated_ms >= patience_ms else None


def _gone(stop: StopWanted | None, seen: Seen, now_ms: int) -> Action | None:
    if seen.remains:
        lingers = seen.exit is not None and now_ms - seen.exit.at_ms < LINGER_MS
        return None if lingers and not seen.exceeded else Kill()
    if seen.exceeded:
        return RecordExit(Exit("failed", seen.return_code, EXCEEDED, f"it was ended for its memory limit: {seen.exceeded}", now_ms))
    if seen.missed and stop is None:
        return RecordExit(Exit("failed", seen.return_code, MISSED, f"it was ended in its probation: {seen.missed}", now_ms))
    return RecordExit(seen.exit or _unsaid(stop, seen, now_ms))


def _unsaid(stop: StopWanted | None, seen: Seen, now_ms: int) -> Exit:
    """The exit of a driver that wrote none: who or what ended it."""
    code = seen.return_code
    if seen.is_lost and stop is None:
        return Exit("killed", None, HOST_LOST, f"nothing is heard of its driver, which was a process of host {seen.elsewhere}", now_ms)
    if seen.elsewhere:
        message = f"its driver, a process of host {seen.elsewhere}, is gone; nobody was there to see why"
        return Exit("killed" if stop is None else "stopped", None, "", message, now_ms)
    if stop is not None and seen.terminated_ms is not None:
        return Exit("stopped", code, "", _told_to_end(stop, code), now_ms)
    if code == 0:
        return Exit("finished", 0, "", "", now_ms)
    if code is not None and code > 0:
        return Exit("failed", code, "", f"the driver ended with exit code {code}; its log says why", now_ms)
    return Exit("killed", code, "", f"the driver was ended by {_cause(code)}", now_ms)


def _told_to_end(stop: StopWanted, code: int | None) -> str:
    """What ended a driver that was told to; of one that an earlier server or a command began nobody learns how it left."""
    what = "cancelled" if stop.at_once else "ended"
    return what if code is None else f"{what} by {_cause(code)}"


def _cause(code: int | None) -> str:
    if code is None:
        return "something outside (nobody was there to see it)"
    if code < 0:
        return f"signal {-code}"
    return f"exit code {code}"


def run_state(wanted: Wanted, seen: Seen, now_ms: int) -> RunState:
    """Where a run stands."""
    if seen.exit and not seen.alive:
        return EXIT_STATES[seen.exit.reason]
    if wanted.run == seen.run and wanted.stop:
        return RunState.STOPPING
    if seen.started_ms is None:
        return RunState.WANTED
    if seen.queries_up or (not seen.streams and now_ms - seen.started_ms >= SCRIPT_UP_MS):
        return RunState.RUNNING
    return RunState.STARTING
