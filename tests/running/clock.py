"""A clock that stands still while others have the machine: what takes a minute on an idle machine takes a minute of it on a busy one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psutil

RUN = "PYTEST_XDIST_TESTRUNUID"
"""xdist's name of a run, in the environment of all that its workers start."""
EVERY_S = 1.0
YOUNG_S = 0.5
"""A reading that is younger stands: each looks at every process of the machine, which takes some 5 ms of a processor, and a test ends with
four questions."""


@dataclass(frozen=True)
class Reading:
    """Seconds since some moment: on the wall, of all processors that somebody used, of those that this run used."""

    wall_s: float
    busy_s: float
    ours_s: float


def fair_s(before: Reading, now: Reading, cores: int) -> float:
    """The part of the time between two readings in which the machine was this run's, or nobody's."""
    wall_s = now.wall_s - before.wall_s
    others_s = (now.busy_s - before.busy_s) - (now.ours_s - before.ours_s)
    return max(0.0, wall_s - min(max(0.0, others_s) / cores, wall_s))


class Clock:
    """Reads the machine every second, and whenever it is asked; it has its own thread while it is `started`."""

    def __init__(self, read: Callable[[], Reading], cores: int, young_s: float = YOUNG_S) -> None:
        self._read, self._cores, self._young_s = read, cores, young_s
        self._last = read()
        self._read_s = time.monotonic()
        self._seconds = 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()

    def now(self) -> float:
        """Seconds from when the clock was made to its newest reading, which is made anew unless it is young."""
        with self._lock:
            if time.monotonic() - self._read_s >= self._young_s:
                reading = self._read()
                self._seconds += fair_s(self._last, reading, self._cores)
                self._last, self._read_s = reading, time.monotonic()
            return self._seconds

    def start(self) -> None:
        """What ends between two readings is nobody's, so there must be many."""
        threading.Thread(target=self._work, name="fair-clock", daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _work(self) -> None:
        while not self._over.wait(EVERY_S):
            self.now()


class Machine:
    """Reads this machine for one run: its controller, the workers that the controller started, and all that carries the run's name."""

    def __init__(self, controller: int, run: str) -> None:
        self._controller, self._run = controller, run
        self._known: dict[int, tuple[psutil.Process, bool, float]] = {}
        """pid -> the process, whether it is the run's, and what it had used when it was last seen."""
        self._ours_s = 0.0

    def read(self) -> Reading:
        times = psutil.cpu_times()
        idle_s = times.idle + getattr(times, "iowait", 0.0)
        guests_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # within `user` already
        self._look()
        return Reading(time.monotonic(), sum(times) - idle_s - guests_s, self._ours_s)

    def _look(self) -> None:
        pids = psutil.pids()
        for pid in self._known.keys() - set(pids):
            del self._known[pid]
        for pid in pids:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                self._look_at(pid)

    def _look_at(self, pid: int) -> None:
        """What a new one has used until now is counted when it is first seen, too."""
        process, ours, used_s = self._known.get(pid) or self._met(pid)
        if ours:
            times = process.cpu_times()
            now_s = times.user + times.system
            self._ours_s += max(0.0, now_s - used_s)
            used_s = now_s
        self._known[pid] = (process, ours, used_s)

    def _met(self, pid: int) -> tuple[psutil.Process, bool, float]:
        """One without an environment is nobody's: the kernel's own are many, and to ask each anew took 6 ms a reading."""
        process = psutil.Process(pid)
        try:
            ours = self._controller in (pid, process.ppid()) or process.environ().get(RUN) == self._run
        except (psutil.AccessDenied, psutil.NoSuchProcess):
            ours = False
        return process, ours, 0.0
