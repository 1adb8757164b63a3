"""A workspace whose drivers are tiny real processes, and the end of every one of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation
from pipelines.domain.versions import Version
from pipelines.sandbox.requests import MARK
from pipelines.supervisor import processes
from pipelines.supervisor.commands import Driver
from pipelines.supervisor.loop import Supervisor
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from pipelines.workspace.opening import open_workspace, wall_clock_ms
from pipelines.workspace.workspace import Workspace
from tests import waiting

TINY = str(Path(__file__).with_name("tiny_driver.py"))
STARTED: list[Version] = []
"""Versions of the drivers that were started."""
DRIVER = Driver(lambda version: [version.python or sys.executable, TINY], lambda version: dict(os.environ), STARTED.append)


until = partial(waiting.until, every=0.01)


class House:
    """An open workspace with its supervisor, which can be closed and opened again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ahead_ms = 0
        """How far the workspace's clock is ahead of the machine's."""
        self.workspace = self.open()

    def open(self) -> Workspace:
        self.workspace = open_workspace(self.root, clock=lambda: wall_clock_ms() + self.ahead_ms)
        self.supervisor = Supervisor(self.workspace, DRIVER)
        return self.workspace

    def reopen(self) -> None:
        self.workspace.close()
        self.open()

    def begin(self, deed: str, name: str = "a", code: str = "x = 1\n", python: str = "") -> Run:
        return do(self.workspace, RunScript(name=name, script="tiny.py", code=code, args=(deed,), python=python))

    def run(self, name: str = "a") -> Run:
        """The job's newest run, after a pass and what it began."""
        self.supervisor.tick()
        self.supervisor.settle()
        return self.workspace.ask(ShowJob(name)).runs[0]

    def stop(self, *, savepoint: bool = True, at_once: bool = False) -> Operation:
        """Asks for it; the operation under way."""
        operation = self.workspace.begin(Stop("a", savepoint, at_once)).operation
        assert operation is not None
        return operation

    def folder(self, run: Run) -> Path:
        return self.workspace.layout.run(run.job, run.id)

    def up(self, run: Run) -> int:
        """Waits until the run's driver listens; its pid."""
        self.supervisor.tick()
        until(lambda: (self.folder(run) / "ready").exists())
        process = self.workspace.context.files.process(JobName(run.job), run.id)
        assert process is not None
        return process.pid


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws")
    yield here
    here.workspace.close()
    left = [p for p in psutil.process_iter() if _is_ours(p, tmp_path)]
    for process in left:
        process.kill()
    for pid in [p.pid for p in left if p.pid in processes._CHILDREN]:
        processes._CHILDREN.pop(pid).wait()


def _is_ours(process: psutil.Process, root: Path) -> bool:
    try:
        return process.environ().get(MARK, "").startswith(str(root))
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
