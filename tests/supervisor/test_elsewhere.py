"""Drivers that are processes of another host, as its standby finds them when it has taken over: a pid there is somebody else's here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pipelines.domain.hosts import LOST, Host
from pipelines.domain.jobs import Run
from pipelines.domain.masters import DEPLOY_MODE
from pipelines.domain.processes import PROCESS_FILE, TERMINATED_FILE, Process
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.domain.runs import RUN_LOCK, RunState
from pipelines.driver.stopping import ToldByFile
from pipelines.storage import hosts
from pipelines.supervisor import elsewhere, processes
from pipelines.supervisor.afar.charge import Charge, Superseded
from pipelines.supervisor.facts import Terminated
from pipelines.verbs.system import ListEvents
from tests.supervisor.conftest import House, until

HOLD = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
BESIDE = replace(hosts.here(), name="a", pids="pid:[1]")
"""A container of this machine."""
FAR = Host("a", "another boot", "pid:[1]")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """A process has a lock on the file, as a driver and its JVM do."""
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        holder.stdout.readline()
        yield
        holder.stdin.close()
        holder.wait()


def begun_at(house: House, host: Host) -> tuple[Run, Process]:
    """A run with a query whose driver is said to be a process of `host`; its pid is that of a process here."""
    run = house.begin("query")
    house.up(run)
    until(lambda: house.run().state is RunState.RUNNING)
    process = house.workspace.context.files.process(run.job, run.id)
    assert process is not None and process.host == hosts.here()
    there = replace(process, host=host)
    house.workspace.context.files.write(house.folder(run) / PROCESS_FILE, there)
    (house.folder(run) / RUN_LOCK).touch()
    return run, there


def kinds(house: House) -> list[str]:
    return [event.kind for event in house.workspace.ask(ListEvents("a"))]


def test_one_that_lives_goes_on_and_is_told_to_stop_by_its_folder(house: House) -> None:
    run, there = begun_at(house, FAR)
    with locked(house.folder(run) / RUN_LOCK):
        house.reopen()
        assert [house.run().state for _ in range(3)] == [RunState.RUNNING] * 3
        assert kinds(house).count("run.elsewhere") == 1
        house.stop(savepoint=False)
        assert house.run().state is RunState.STOPPING
        house.ahead_ms = 3_600_000
        assert house.run().state is RunState.STOPPING, "it is not killed, nor is it said to have ended"
        assert house.workspace.context.files.read(Terminated, house.folder(run) / TERMINATED_FILE).by_file
    assert house.run().state is RunState.STOPPED
    assert psutil.pid_exists(there.pid), "a process of this host got the signal"


def test_one_that_is_gone_with_its_container_is_followed_by_another(house: House) -> None:
    run, _ = begun_at(house, BESIDE)
    house.reopen()
    assert house.run().state is RunState.RESTARTING
    ended = house.workspace.context.files.exit(run.job, run.id)
    assert ended is not None and "host a, is gone" in ended.message


def test_one_that_a_file_server_has_given_up_is_followed_by_none(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    begun_at(house, FAR)
    monkeypatch.setattr(hosts, "OF_ONE_HOST", frozenset())
    house.reopen()
    seen = house.run()
    assert seen.state is RunState.FAILED and seen.exit is not None and seen.restart is not None
    assert seen.exit.error_class == LOST and "host a" in seen.exit.message
    assert seen.restart.at_ms is None and "may live" in seen.restart.why


def test_one_that_stood_for_a_driver_on_the_cluster_is_followed_here(house: House) -> None:
    """Whether or not it lives there: the driver goes on, and is this host's to look after."""
    run, there = begun_at(house, FAR)
    spec = house.workspace.context.files.read(RunSpec, house.folder(run) / SPEC_FILE)
    afar = replace(spec, master="yarn", conf={**spec.conf, DEPLOY_MODE: "cluster"})
    house.workspace.context.files.write(house.folder(run) / SPEC_FILE, afar)
    with locked(house.folder(run) / RUN_LOCK):
        house.reopen()
        seen = house.run()
    now = house.workspace.context.files.process(run.job, run.id)
    assert now is not None and (now.host, now.pid != there.pid) == (hosts.here(), True)
    assert (seen.id, seen.state, seen.exit) == (run.id, RunState.RUNNING, None)
    assert kinds(house)[0] == "run.stood_for" and not {"run.killed", "run.failed"} & set(kinds(house))


def test_a_young_one_has_no_lock_yet(house: House) -> None:
    run, there = begun_at(house, BESIDE)
    (house.folder(run) / RUN_LOCK).unlink()
    context = house.workspace.context
    assert elsewhere.stand(context, run, there) is elsewhere.Stand.LIVES
    house.ahead_ms = elsewhere.YOUNG_MS + 1_000
    assert elsewhere.stand(context, run, there) is elsewhere.Stand.GONE


def test_a_pid_of_another_host_is_no_process_here(house: House) -> None:
    run, there = begun_at(house, FAR)
    folder = house.folder(run)
    assert not processes.alive(there) and not processes.remains(there, folder)
    processes.terminate(there)
    processes.kill(there, folder)
    assert processes.alive(replace(there, host=hosts.here()))


def test_who_stands_for_a_driver_leaves_when_another_does(house: House) -> None:
    files, folder = house.workspace.context.files, house.folder(house.begin("wait"))
    mine = Process(os.getpid(), 1.0, host=hosts.here())
    files.write(folder / PROCESS_FILE, replace(mine, pid=1, host=FAR))
    charge = Charge(folder)
    charge.check()
    files.write(folder / PROCESS_FILE, mine)
    charge.check()
    files.write(folder / PROCESS_FILE, replace(mine, host=FAR))
    with pytest.raises(Superseded):
        charge.check()


def test_a_driver_is_told_once(tmp_path: Path) -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    try:
        look = ToldByFile(tmp_path).look
        look()
        (tmp_path / TERMINATED_FILE).write_text('{"at_ms": 1, "by_file": false}')
        look()
        assert not told, "a server of this host sends the signal itself"
        (tmp_path / TERMINATED_FILE).write_text('{"at_ms": 1, "by_file": true}')
        look()
        look()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert told == [signal.SIGTERM]
