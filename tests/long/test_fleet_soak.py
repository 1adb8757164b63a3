"""A fleet of jobs of several kinds, whose drivers, JVMs and servers are killed at random: each output equals its reference at the end.

    TIDEMARK_SOAK_MINUTES=15 TIDEMARK_SOAK_KILLS=60 TIDEMARK_SOAK_SEED=7 python3 -m tests tests/long/test_fleet_soak.py -s

Each kill is printed with its seed, so that a failure can be walked again. A standby takes over from each server that is killed.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.supervisor import soak_job
from tests.supervisor.soaking import Fleet, fleet, steps
from tests.waiting import until

MINUTES = float(os.environ.get("TIDEMARK_SOAK_MINUTES", "15"))
KILLS = int(os.environ.get("TIDEMARK_SOAK_KILLS", "60"))
SEED = int(os.environ.get("TIDEMARK_SOAK_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
DRAIN_S = 1_800.0
PATIENCE = 1.25
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(MINUTES * 60 + 2 * DRAIN_S)]


def test_a_fleet_that_is_killed_at_random(tmp_path: Path, spark: Any) -> None:
    print(f"\nseed {SEED}, {KILLS} kills in {MINUTES:g} minutes")
    with fleet(tmp_path, SEED, standby=True) as house:
        house.begin(tuple(soak_job.QUERIES))
        print(f"{len(house.jobs)} drivers are up", flush=True)
        _kill(house, time.monotonic())
        house.drain(DRAIN_S)
        house.end()
        compared, counted = house.check(spark, tmp_path / "reference"), house.check_progress()
        print(f"{dict(house.kills)}; {compared} rows of {house.fed} files equal their reference, {counted} batches are counted once")
    assert house.kills.keys() == {"driver", "jvm", "server"}


def _kill(house: Fleet, began_s: float) -> None:
    """Kills, spread over the minutes that the soak lasts; each comes after its time, at a random moment of the jobs' batches. A machine on
    which they take longer ends before the last one, after a quarter more of its minutes."""
    for number, (kind, job) in enumerate(steps(house, KILLS), 1):
        due_s = began_s + MINUTES * 60 * number / KILLS
        if time.monotonic() - began_s > MINUTES * 60 * PATIENCE:
            break
        until(lambda due_s=due_s: time.monotonic() >= due_s, MINUTES * 60 + 60)  # type: ignore[misc]
        house.feed(2)
        print(f"{time.monotonic() - began_s:.0f} s, {number}: {kind} {job if kind != 'server' else ''} {house.far()}", flush=True)
        house.kill(kind, job)
