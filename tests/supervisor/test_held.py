"""Drivers with limits on memory and processors: real processes, held by what this machine has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pipelines.domain.errors import Invalid
from pipelines.domain.jobs import Run
from pipelines.domain.resources import EXCEEDED, HELD_FILE, Means, Resources
from pipelines.domain.runs import RunState
from pipelines.sandbox import holding
from pipelines.sandbox.holding import GATE, cgroups
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resources import SetResources
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from tests.supervisor.conftest import House, until

GIB = 2**30


def begin(house: House, deed: str, memory_bytes: int | None = None, cpus: float | None = None) -> Run:
    script = RunScript(name="a", script="tiny.py", code="x = 1\n", args=(deed,), memory_bytes=memory_bytes, cpus=cpus)
    return do(house.workspace, script)


def held(house: House, run: Run) -> dict[str, object]:
    return dict(json.loads((house.folder(run) / HELD_FILE).read_text()))


def test_a_driver_whose_child_takes_too_much_is_ended_with_it_and_the_job_begins_again(house: House) -> None:
    run = begin(house, "greedy", GIB)
    house.up(run)
    child = int((house.folder(run) / "child.pid").read_text())
    until(lambda: house.run().state.has_failed)
    ended = next(seen for seen in house.workspace.ask(ShowJob("a")).runs if seen.id == run.id)
    assert ended.exit is not None and (ended.exit.reason, ended.exit.error_class) == ("failed", EXCEEDED)
    assert "1 GiB" in ended.exit.message
    assert ended.restart is not None and ended.restart.attempt == 1
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_what_a_restarted_supervisor_adopts_is_held_as_before(house: House) -> None:
    run = begin(house, "greedy", 8 * GIB)
    pid = house.up(run)
    house.reopen()
    assert house.run().pid == pid
    path = house.folder(run) / HELD_FILE
    path.write_text(json.dumps({**held(house, run), "means": "supervisor", "resources": {"memory_bytes": GIB, "cpus": None}}))
    until(lambda: house.run().state.has_failed)
    assert house.workspace.ask(ShowJob("a")).runs[0].exit.error_class == EXCEEDED  # type: ignore[union-attr]


def test_processors_are_those_of_the_machine_at_most(house: House) -> None:
    run = begin(house, "wait", cpus=0.5)
    pid = house.up(run)
    if held(house, run)["means"] == Means.SUPERVISOR:
        assert len(os.sched_getaffinity(pid)) == 1
    assert sys.executable in psutil.Process(pid).cmdline()[0]


def test_what_a_job_may_take_changes_with_its_next_start(house: House) -> None:
    run = begin(house, "wait", 2 * GIB)
    house.up(run)
    assert do(house.workspace, SetResources("a", memory_bytes=3 * GIB, cpus=1.5)).resources == Resources(3 * GIB, 1.5)
    assert house.workspace.context.files.spec(run.job, run.id).resources == Resources(2 * GIB)
    house.workspace.begin(Stop("a", savepoint=False))
    until(lambda: house.run().state is RunState.STOPPED)
    plan = house.workspace.plan(Resume("a", cpus=0))
    assert (plan.resources, plan.means) == (Resources(3 * GIB), holding.means())
    again = do(house.workspace, Resume("a", cpus=0))
    spec = house.workspace.context.files.spec(again.job, again.id)
    assert spec.resources == Resources(3 * GIB)
    assert spec.conf["spark.driver.memory"] == "2194m"
    assert house.workspace.ask(ShowJob("a")).summary.job.resources == Resources(3 * GIB)


@pytest.mark.parametrize(
    ("memory_bytes", "cpus", "conf", "code"),
    [
        (512 * 2**20, None, {}, "resources.memory"),
        (None, -1.0, {}, "resources.cpus"),
        (None, float("nan"), {}, "resources.cpus"),
        (2 * GIB, None, {"spark.driver.memory": "2g"}, "resources.heap"),
    ],
)
def test_limits_that_no_spark_fits_into_are_refused(
    house: House, memory_bytes: int | None, cpus: float | None, conf: dict[str, str], code: str
) -> None:
    script = RunScript(name="a", script="tiny.py", code="x = 1\n", args=("wait",), memory_bytes=memory_bytes, cpus=cpus, conf=conf)
    with pytest.raises(Invalid) as refused:
        house.workspace.plan(script)
    assert refused.value.code == code


def test_a_job_without_limits_has_none(house: House) -> None:
    run = house.begin("wait")
    house.up(run)
    assert not (house.folder(run) / HELD_FILE).exists()


def test_a_gate_that_nobody_opens_lets_nothing_through(tmp_path: Path) -> None:
    waiting = subprocess.Popen([*GATE, "touch", str(tmp_path / "through")], stdin=subprocess.PIPE)
    waiting.communicate(b"")
    assert waiting.returncode != 0 and not (tmp_path / "through").exists()


def test_an_open_gate_hands_over_to_the_command(tmp_path: Path) -> None:
    waiting = subprocess.Popen([*GATE, "touch", str(tmp_path / "through")], stdin=subprocess.PIPE)
    waiting.communicate(holding.OPEN)
    assert waiting.returncode == 0 and (tmp_path / "through").exists()


def delegated(root: Path) -> Path:
    """Files as the kernel has them in a cgroup of version 2 that this process is alone in."""
    group = root / "base"
    group.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory\n")
    (group / "cgroup.controllers").write_text("cpu io memory pids\n")
    (group / "cgroup.type").write_text("domain\n")
    (group / "cgroup.subtree_control").write_text("")
    (group / "cgroup.procs").write_text(f"{os.getpid()}\n")
    return group


def test_a_cgroup_gets_the_limits_the_process_and_a_leaf_for_the_server(tmp_path: Path) -> None:
    base = delegated(tmp_path)
    group = cgroups.placed(base, "r1", 4711, Resources(2 * GIB, 1.5))
    assert group == base / "tidemark-r1"
    written = {file.name: file.read_text() for file in group.iterdir()}
    assert written == {"memory.max": str(2 * GIB), "memory.oom.group": "1", "cpu.max": "150000 100000", "cgroup.procs": "4711"}
    assert (base / "server" / "cgroup.procs").read_text() == str(os.getpid())
    assert (base / "cgroup.subtree_control").read_text() == "+cpu +memory"


def test_what_the_kernel_ended_is_counted(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n")
    assert (cgroups.kills(tmp_path), cgroups.kills(tmp_path / "gone")) == (3, 0)


def test_a_cgroup_with_a_stranger_in_it_is_not_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = delegated(tmp_path)
    monkeypatch.setattr(cgroups, "of", lambda pid, root: base)
    monkeypatch.setattr(cgroups, "SYSTEMD", tmp_path / "no-systemd")
    assert cgroups.base(tmp_path) == base
    stranger = next(pid for pid in psutil.pids() if pid not in cgroups._kin())
    (base / "cgroup.procs").write_text(f"{os.getpid()}\n{stranger}\n")
    assert cgroups.base(tmp_path) is None
    (base / "cgroup.procs").write_text(f"{os.getpid()}\n")
    monkeypatch.setattr(cgroups, "SYSTEMD", tmp_path)
    assert cgroups.base(tmp_path) is None
