"""A run is submitted once, whoever is killed meanwhile: the lock is that of the processes that submit, and the cluster's oldest is kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipelines.domain.applications import Application, Stage
from pipelines.supervisor.afar.submitting import alone, choose
from tests.waiting import until

ATTENDANT = """
import subprocess, sys
from pathlib import Path
from pipelines.supervisor.afar.submitting import alone
with alone(Path(sys.argv[1])) as lock:
    subprocess.run([sys.executable, "-c", "input()"], pass_fds=[lock])
"""


def test_the_next_process_waits_for_what_a_killed_one_submits(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ATTENDANT, str(tmp_path)], stdin=subprocess.PIPE) as killed:
        assert killed.stdin is not None
        entered = threading.Event()
        waits = threading.Thread(target=lambda: enter(tmp_path, entered))
        until(lambda: bool(children(killed.pid)))
        waits.start()
        killed.kill()
        killed.wait()
        assert not entered.wait(0.3)
        killed.stdin.close()
        waits.join(60)
        assert entered.is_set()


def enter(folder: Path, entered: threading.Event) -> None:
    with alone(folder):
        entered.set()


def children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


def of(name: str, stage: Stage) -> Application:
    return Application(name, stage, "")


@pytest.mark.parametrize(
    ("stages", "kept", "ended"),
    [
        ((), None, []),
        ((Stage.OVER,), 0, []),
        ((Stage.OVER, Stage.OVER), 1, []),
        ((Stage.RUNNING,), 0, []),
        ((Stage.OVER, Stage.WAITING), 1, []),
        ((Stage.WAITING, Stage.RUNNING, Stage.OVER, Stage.WAITING), 0, [1, 3]),
    ],
)
def test_the_oldest_that_is_not_over_is_kept(stages: Sequence[Stage], kept: int | None, ended: Sequence[int]) -> None:
    applications = [of(str(number), stage) for number, stage in enumerate(stages)]
    followed, others = choose(applications)
    assert (followed, list(others)) == (None if kept is None else applications[kept], [applications[number] for number in ended])
