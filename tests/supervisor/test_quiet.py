"""A run that runs is left alone until something changes about it: a file of its own, what is wanted of it, or its process."""

from __future__ import annotations

import os
import signal

from pipelines.domain.jobs import Run
from pipelines.domain.resources import HELD_FILE
from pipelines.domain.runs import RunState
from pipelines.supervisor.quiet import Quiet
from pipelines.verbs.jobs import ShowJob
from tests.supervisor.conftest import House, until

HELD = '{"means": "supervisor", "resources": {"memory_bytes": 8589934592, "cpus": null}}'


def quiet(house: House) -> tuple[Quiet, Run]:
    """After a job came to run, and a pass more."""
    house.up(house.begin("query", code="df.writeStream\n"))
    until(lambda: house.run().state is RunState.RUNNING)
    house.supervisor.tick()
    return house.supervisor._quiet, house.workspace.ask(ShowJob("a")).runs[0]


def test_a_run_that_runs_is_quiet_until_its_stop(house: House) -> None:
    left, run = quiet(house)
    assert left.is_so(run)
    house.stop(savepoint=False)
    assert not left.is_so(run)
    until(lambda: house.run().state is RunState.STOPPED)
    assert not left._known


def test_a_run_whose_process_ends_is_looked_at(house: House) -> None:
    left, run = quiet(house)
    assert left.is_so(run) and run.pid is not None
    os.kill(run.pid, signal.SIGKILL)
    until(lambda: not left.is_so(run))
    until(lambda: house.run().state is not RunState.RUNNING)


def test_a_run_that_begins_is_not_quiet(house: House) -> None:
    house.up(house.begin("wait", code="df.writeStream\n"))
    house.supervisor.tick()
    assert not house.supervisor._quiet._known


def test_a_driver_with_limits_is_looked_at_in_each_pass(house: House) -> None:
    """What it takes of its memory changes without a file."""
    left, run = quiet(house)
    (house.folder(run) / HELD_FILE).write_text(HELD)
    assert not left.is_so(run)
    house.supervisor.tick()
    assert not left.is_so(house.workspace.ask(ShowJob("a")).runs[0])
