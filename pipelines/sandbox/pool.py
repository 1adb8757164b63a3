"""Warm Spark processes: started when they are likely to be needed, given one task after the other, ended when nobody has asked for a while.

A process that has run a user's code is given nothing else; another one takes its place. Without a server the pool is closed: each task
has a process that it starts cold, and that ends with it.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from pipelines.domain.about import WarmProcess
from pipelines.domain.errors import Unavailable
from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import environment, processes
from pipelines.sandbox.members import Kind, Member
from pipelines.sandbox.processes import WHOLE, Share
from pipelines.sandbox.requests import Request
from pipelines.workers.idle_timer import IdleTimer

MOST_VARIABLE = "TIDEMARK_WARM_PROCESSES"
"""How many processes there may be; 0 for none."""
DRIVERS_VARIABLE = "TIDEMARK_WARM_DRIVERS"
"""How many of them are begun with a server, for its first jobs; 0 where no job is to begin in one."""
DRIVERS = 2
"""An example begins two: the job, and what makes its input."""
ROOMY_BYTES = 6_000_000_000
"""A machine with less memory has one process."""
IDLE_S = 300.0
PREFIX = "warm-"


def most_processes() -> int:
    """The bound, from the environment, else by the machine's memory."""
    setting = os.environ.get(MOST_VARIABLE, "")
    return int(setting) if setting.isdigit() else 2 if psutil.virtual_memory().total > ROOMY_BYTES else 1


def most_drivers() -> int:
    """How many a server begins with, from the environment."""
    setting = os.environ.get(DRIVERS_VARIABLE, "")
    return int(setting) if setting.isdigit() else DRIVERS


@dataclass(frozen=True)
class Work:
    """A module of ours to run, and the Spark that it needs: runtime, master, confs."""

    module: str
    runtime: Runtime
    master: str
    conf: Mapping[str, str]
    is_last: bool
    """Whether its process is given nothing else: it runs a user's code, or leaves something behind."""
    hidden: Sequence[bytes]
    """What must not be shown of what it says (`secret_values.hidden`)."""


class Pool:
    """Runs modules of ours that need Spark, cold ones with a `share` of the machine. Safe for several threads."""

    def __init__(self, idle_s: float = IDLE_S, share: Share = WHOLE) -> None:
        self.share = share
        self._home = Path()
        self._lock = threading.Lock()
        self._members: list[Member] = []
        self._timer = IdleTimer(idle_s, self._end_idle)
        self.most = 0
        """How many processes there may be; 0 while the pool is closed."""
        self.drivers = 0
        """How many of them a server begins with; 0 where no job begins in one."""

    def open(self, home: Path, most: int | None = None) -> None:
        """From now on processes are kept, with their folders in `home`."""
        self._home = home
        self.most = most_processes() if most is None else most
        self.drivers = min(self.most, most_drivers())

    def close(self) -> None:
        """Ends all processes, also in the middle of a task."""
        with self._lock:
            self.most = self.drivers = 0
            self._timer.stop()
            members, self._members = self._members, []
        for member in members:
            member.end()

    def expect(self, runtime: Runtime, master: str, conf: Mapping[str, str], most: int = 1) -> None:
        """Warms processes up until `most` of the kind wait, as far as there is room: somebody is likely to ask for them. Where none can be
        started nothing is said: who asks for one is told."""
        if not self.most:
            return
        with suppress(Unavailable), self._lock:
            kind = Kind.of(runtime, master, conf)
            for _ in range(most - len(self._waiting(kind))):
                self._begun(kind)
            self._begin_timer()

    def take(self, runtime: Runtime, master: str, conf: Mapping[str, str]) -> Member | None:
        """A process of the kind, the warmest that waits, to become something else: it is not the pool's any more. One that still warms up
        leaves the rest of that out, and is up sooner than another one would be. None where none waits.

        Raises Unavailable where no Java fits."""
        with self._lock:
            member = next((member for member in self._waiting(Kind.of(runtime, master, conf)) if not member.is_stuck), None)
            if member is not None:
                self._members.remove(member)
                self._begin_timer()
            return member

    def run(self, work: Work, folder: Path, log: str, watch: Callable[[], None], timeout_s: float) -> int:
        """Runs the work's module on `folder` as `processes.run` does; raises what that raises."""
        kind = Kind.of(work.runtime, work.master, work.conf)
        member = self._taken(kind, work.module)
        if member is None:
            command = environment.command(kind.runtime.python, work.module)
            return processes.run(command, folder, dict(kind.environ), log, watch, timeout_s, self.share, work.hidden)
        is_kept = False
        try:
            code = member.run(Request(work.module, str(folder), work.is_last), folder / log, watch, timeout_s, work.hidden)
            is_kept = not code and not work.is_last
        finally:
            self._put_back(member, is_kept)
        if work.is_last and not code:
            self.expect(work.runtime, work.master, work.conf)
        return code

    def processes(self) -> tuple[WarmProcess, ...]:
        """The processes as they are now."""
        with self._lock:
            members = [member for member in self._members if member.is_alive]
        return tuple(
            WarmProcess(member.pid, member.kind.runtime.python, member.memory_bytes, member.is_warm, member.work) for member in members
        )

    def _taken(self, kind: Kind, module: str) -> Member | None:
        """A process of the kind, the warmest first; None where there is no room for one."""
        with self._lock:
            member = next(iter(self._waiting(kind)), None) or self._begun(kind)
            if member is not None:
                member.work = module
            return member

    def _waiting(self, kind: Kind) -> list[Member]:
        """Those of the kind that have nothing to do, the warmest first."""
        waiting = [member for member in self._members if member.kind == kind and not member.work and member.is_alive]
        return sorted(waiting, key=lambda member: not member.is_warm)

    def _begun(self, kind: Kind) -> Member | None:
        """Another process, where a bound allows it; one that waits and is of another kind gives way."""
        if not self.most or not kind.is_local:
            return None
        for member in [member for member in self._members if not member.is_alive or member.is_stuck]:
            self._end(member)
        others = sorted((member for member in self._members if not member.work and member.kind != kind), key=lambda member: member.used_s)
        if len(self._members) >= self.most and others:
            self._end(others[0])
        if len(self._members) >= self.most:
            return None
        self._home.mkdir(parents=True, exist_ok=True)
        member = Member(kind, Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._home)))
        self._members.append(member)
        return member

    def _put_back(self, member: Member, is_kept: bool) -> None:
        with self._lock:
            member.work, member.used_s = "", time.monotonic()
            if not is_kept and member in self._members:
                self._end(member)
            self._begin_timer()

    def _end(self, member: Member) -> None:
        self._members.remove(member)
        member.end()

    def _begin_timer(self) -> None:
        self._timer.stop()
        if self._members:
            self._timer.begin()

    def _end_idle(self) -> None:
        """Nobody has asked for `idle_s`: the timer begins anew with each use."""
        with self._lock:
            for member in [member for member in self._members if not member.work]:
                self._end(member)
            self._begin_timer()
