"""Which host a process is of, and what locks tell of one of another."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.hosts import Host, Place, is_certain, place_of
from pipelines.storage import hosts

HERE = Host("a", "boot-1", "pid:[1]")
PLACES = {
    "noted when a workspace was one machine's": (None, Place.HERE),
    "here": (HERE, Place.HERE),
    "here, by another name since": (replace(HERE, name="renamed"), Place.HERE),
    "here before it was booted anew": (replace(HERE, boot="boot-0", pids="pid:[7]"), Place.BEFORE),
    "a container beside this one": (replace(HERE, name="c", pids="pid:[2]"), Place.ELSEWHERE),
    "a container of the same name": (replace(HERE, pids="pid:[2]"), Place.ELSEWHERE),
    "another machine": (Host("b", "boot-2", "pid:[1]"), Place.ELSEWHERE),
    "this name alone": (Host("a"), Place.HERE),
    "another name alone": (Host("b"), Place.ELSEWHERE),
}


@pytest.mark.parametrize(("known", "place"), PLACES.values(), ids=PLACES)
def test_where_a_process_is(known: Host | None, place: Place) -> None:
    assert place_of(known, HERE) is place


def test_what_a_free_lock_says() -> None:
    container, machine = replace(HERE, pids="pid:[2]"), Host("b", "boot-2", "pid:[1]")
    assert is_certain(container, HERE, disk_is_shared=True), "one kernel answers for both"
    assert not is_certain(machine, HERE, disk_is_shared=True), "a file server gives up on hosts that it does not hear of"
    assert is_certain(machine, HERE, disk_is_shared=False), "its disk was given to this one"
    assert not is_certain(Host("b"), Host("a"), disk_is_shared=True)


def test_this_host() -> None:
    ask = "from pipelines.storage import hosts; print(hosts.here())"
    child = subprocess.run([sys.executable, "-c", ask], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == str(hosts.here())
    assert hosts.place(hosts.here()) is Place.HERE


def test_a_lock_of_another_process_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    assert not hosts.is_locked(path), "it is not there"
    path.touch()
    assert not hosts.is_locked(path)
    hold = "import fcntl, sys; file = open(sys.argv[1], 'r+'); fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        holder.stdout.readline()
        assert hosts.is_locked(path)
        holder.stdin.close()
        holder.wait()
    assert not hosts.is_locked(path)
