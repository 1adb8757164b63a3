"""Drivers, JVMs and the server are killed one after the other: every job's output equals its reference, and progress is counted once.

`tests/long/test_fleet_soak.py` does it for a quarter of an hour, at random.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.supervisor.soaking import fleet

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
KINDS = ("several", "windows_rocksdb")
KILLS = (("driver", "several"), ("jvm", "windows_rocksdb"), ("server", ""))


def test_whatever_is_killed_nothing_is_lost_or_doubled(tmp_path: Path, spark: Any) -> None:
    with fleet(tmp_path, seed=14, standby=False) as house:
        house.begin(KINDS)
        for kind, job in KILLS:
            house.feed(3)
            house.kill(kind, job)
        house.feed(3)
        house.drain(600)
        house.end()
        assert house.check(spark, tmp_path / "reference") > 50
        assert house.check_progress() >= 3 * (house.fed - len(KILLS))
