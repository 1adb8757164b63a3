"""The clock of the budgets: what neighbours take is not counted, what the run itself takes is."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from tests.running.clock import RUN, Clock, Machine, Reading, fair_s
from tests.waiting import until

CASES = {
    "idle": (Reading(10, 0, 0), 10),
    "two cores, both ours": (Reading(10, 20, 20), 10),
    "two cores, one a neighbour's": (Reading(10, 20, 10), 5),
    "two cores, all a neighbour's": (Reading(10, 20, 0), 0),
    "ours is read later than the whole": (Reading(10, 5, 6), 10),
    "the whole is read later": (Reading(10, 21, 0), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_only_the_runs_own_part_counts(name: str) -> None:
    now, seconds = CASES[name]
    assert fair_s(Reading(0, 0, 0), now, 2) == seconds


def test_the_clock_adds_up() -> None:
    readings = iter([Reading(0, 0, 0), Reading(10, 20, 20), Reading(20, 40, 20), Reading(30, 40, 20)])
    clock = Clock(lambda: next(readings), 2, young_s=0)
    assert [clock.now() for _ in range(3)] == [10, 10, 20]


def test_a_young_reading_stands() -> None:
    readings = iter([Reading(0, 0, 0)])
    assert Clock(lambda: next(readings), 2, young_s=3600).now() == 0


def spin(environ: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "while True: pass"], env={**os.environ, **environ}, start_new_session=True)


@pytest.mark.parametrize(("run", "counts"), [("this", True), ("another", False)])
def test_a_process_belongs_to_the_run_that_it_carries_the_name_of(run: str, counts: bool) -> None:
    machine = Machine(controller=-1, run="this")
    spinning = spin({RUN: run})
    try:
        until(lambda: psutil.Process(spinning.pid).cpu_times().user > 0.2)
        machine.read()
        assert (machine.read().ours_s > 0.1) is counts
    finally:
        spinning.kill()
        spinning.wait()


def test_its_thread_reads_by_itself() -> None:
    times: list[float] = []

    def read() -> Reading:
        times.append(time.monotonic())
        return Reading(times[-1], 0, 0)

    clock = Clock(read, 2)
    clock.start()
    until(lambda: len(times) > 1)
    clock.stop()
