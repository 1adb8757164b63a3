"""A process of the pool, as who has started it sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from pipelines.domain.masters import DEFAULT, is_local
from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import environment, processes, temporary
from pipelines.sandbox.gateway import launch_conf
from pipelines.sandbox.requests import CODE_FILE, READY_FILE, RUN_FILE, Launch, Request
from pipelines.storage import handover

MODULE = "pipelines.sandbox.warm"
LOG = "warm.log"
START_S = 300.0
"""By then a Spark is up, however busy the machine."""


@dataclass(frozen=True)
class Kind:
    """What tells processes apart: the runtime, the environment, and what holds for a whole JVM."""

    runtime: Runtime
    master: str
    conf: tuple[tuple[str, str], ...]
    inherited: tuple[tuple[str, str], ...]
    environ: Mapping[str, str] = field(compare=False)
    """With what Java starts faster by, where that is there already: a process that was begun without is as good."""

    @staticmethod
    def of(runtime: Runtime, master: str, conf: Mapping[str, str]) -> Kind:
        """Raises Unavailable where no Java fits. A JVM serves every local master."""
        master = DEFAULT if is_local(master) else master
        inherited, environ = environment.inherited(), environment.environ(master, runtime)
        return Kind(runtime, master, tuple(sorted(launch_conf(conf).items())), tuple(sorted(inherited.items())), environ)

    @property
    def is_local(self) -> bool:
        """Whether its Spark is this machine's: elsewhere a process that waits would hold a cluster's executors."""
        return is_local(self.master)


def run_of(home: Path) -> str:
    """The folder of the run whose driver the process with this folder has become; empty while it is the pool's."""
    try:
        return (home / RUN_FILE).read_text()
    except FileNotFoundError:
        return ""


def remove(home: Path) -> None:
    """Removes what a process of the pool leaves, of which nothing lives."""
    shutil.rmtree(home, ignore_errors=True)
    temporary.remove(home)


def clean(homes: Path, lives_elsewhere: Callable[[Path], bool]) -> None:
    """Removes what processes of an earlier server have left; those that have become drivers go on, also where the driver of a run in a
    folder `lives_elsewhere`, on another host."""
    for home in homes.iterdir() if homes.is_dir() else ():
        run = run_of(home)
        if not run or not (processes.lives(home) or lives_elsewhere(Path(run))):
            processes.end(home)
            remove(home)


class Member:
    """One process, with a folder of its own that goes with it."""

    def __init__(self, kind: Kind, home: Path) -> None:
        """Raises Unavailable (`sandbox.start`)."""
        self.kind, self.home = kind, home
        self.used_s = self._began_s = time.monotonic()
        self.work = ""
        """The module that it runs; empty while it waits."""
        command = environment.command(kind.runtime.python, MODULE)
        try:
            self._process = processes.started(command, home, dict(kind.environ), LOG, subprocess.PIPE)
        except BaseException:
            shutil.rmtree(home)
            raise
        self._write(Launch(kind.master, dict(kind.conf)).as_line())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def child(self) -> subprocess.Popen[bytes]:
        """The process, for who waits for its end."""
        return self._process

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def is_warm(self) -> bool:
        return (self.home / READY_FILE).exists()

    @property
    def is_stuck(self) -> bool:
        """Whether it waits for a Spark that does not come up."""
        return not self.work and not self.is_warm and time.monotonic() > self._began_s + START_S

    @property
    def memory_bytes(self) -> int:
        """What it takes with its JVM; 0 where it has just ended."""
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            return sum(node.memory_info().rss for node in (process, *process.children(recursive=True)))
        return 0

    def run(self, request: Request, log: Path, watch: Callable[[], None], timeout_s: float, hidden: Sequence[bytes]) -> int:
        """Does the request; what it writes meanwhile is in `log` afterwards. Whatever is raised leaves a process that has to be ended."""
        handover.prepare(log.parent)
        processes.appending(log).close()
        begun = (self.home / LOG).stat().st_size
        (self.home / CODE_FILE).unlink(missing_ok=True)
        self._write(request.as_line())
        try:
            return processes.followed(self._code, request.module, self.home / LOG, watch, timeout_s, hidden)
        finally:
            with (self.home / LOG).open("rb") as output, processes.appending(log) as copy:
                output.seek(begun)
                shutil.copyfileobj(output, copy)

    def become(self, module: str, folder: Path, log: str, stands: Path) -> None:
        """Has it run `module` on `folder`, a run's, as its last task, which outlives this process. Its output goes to `log` there, and it
        `stands` in the folder that is its working directory from then on.

        (1) Its folder says which run it has become; (2) its log, which it and its JVM hold open, becomes the run's; (3) it is told. Where
        this process dies before that, the other one ends, and the run has no driver. Raises OSError, also where that file is there
        already: another process of the user that runs jobs' code has put it there.
        """
        with (self.home / RUN_FILE).open("x") as file:  # 1
            file.write(str(folder))
        handover.prepare(folder)
        os.truncate(self.home / LOG, 0)
        (self.home / LOG).rename(folder / log)  # 2
        self._write(Request(module, str(folder), last=True, stands=str(stands)).as_line())  # 3
        self._close()

    def end(self) -> None:
        """Ends the process and all that it has started; nothing of it is left."""
        processes.end(self.home)
        self._process.wait()
        self._close()
        shutil.rmtree(self.home, ignore_errors=True)

    def _close(self) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def _code(self) -> int | None:
        ended, file = self._process.poll(), self.home / CODE_FILE
        return int(file.read_text()) if file.exists() else ended

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, which its exit code says
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
