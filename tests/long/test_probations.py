"""Upgrades that fail, miss a limit and pass, one after the other: `tests/workspace/test_restarts_exact.py` has the first and the last."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.verbs.face import do
from pipelines.verbs.run import RunScript
from tests.driver.process import CONF
from tests.workspace.serving import Server
from tests.workspace.test_restarts_exact import FILES, POISON, STRICT, Upgrades, puts_out, server, without_poison, write

__all__ = ["server"]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1800), pytest.mark.usefixtures("kept_jvms")]


def test_a_job_goes_back_by_itself(server: Server, tmp_path: Path) -> None:
    events, flaked = tmp_path / "events", tmp_path / "flaked"
    flaked.write_text("once\nand again\n")
    write(events, (file for file in range(FILES) if file != POISON))
    do(server.face, RunScript(name="main", script="sums.py", code=STRICT, args=(str(events), "{output}", str(flaked)), conf=CONF))
    puts_out(server, "main", without_poison(FILES))
    upgrades = Upgrades(server, events)
    upgrades.fails()
    upgrades.misses()
    upgrades.passes()
    assert upgrades.told() == ["job.probation_passed", *["job.went_back", "job.probation_failed"] * 2]
