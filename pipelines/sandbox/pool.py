"""Warm Spark processes: started when they are likely to be needed, given one task after the other, ended when nobody has asked for a while.

A process that has run a user's code is given nothing else; another one takes its place. All of them together have a bound on their memory:
where there is no room for another one, and without a server, whose pool is closed, a task has a process that it starts cold, and that ends
with it.
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
from pipelines.domain.resources import MIB
from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import environment, processes
from pipelines.sandbox.members import Kind, Member
from pipelines.sandbox.processes import WHOLE, Share
from pipelines.sandbox.requests import Request
from pipelines.workers.idle_timer import IdleTimer

MOST_VARIABLE = "TIDEMARK_WARM_MIB"
"""How much memory the processes may take together, in MiB; 0 for none."""
MOST_BYTES = 3_072 * MIB
LITTLE_BYTES = 1_024 * MIB
"""Of a machine with less memory than `ROOMY_BYTES`: one process."""
EXPECTED_BYTES = 720 * MIB
"""What one that waits takes with its JVM, at most: 530 to 600 MiB were measured, with a heap of 1 GiB and of 4. One counts as no less when
another one is to begin: it may only just have begun itself."""
DRIVERS_VARIABLE = "TIDEMARK_WARM_DRIVERS"
"""How many of them are begun with a server, for its first jobs; 0 where no job is to begin in one."""
DRIVERS = 2
"""An example begins two: the job, and what makes its input."""
ROOMY_BYTES = 6_000_000_000
"""A machine has as much memory, or is a small one."""
IDLE_S = 300.0
PREFIX = "warm-"


def most_bytes() -> int:
    """The bound, from the environment, else by the machine's memory."""
    setting = os.environ.get(MOST_VARIABLE, "")
    usual = MOST_BYTES if psutil.virtual_memory().total > ROOMY_BYTES else LITTLE_BYTES
    return int(setting) * MIB if setting.isdigit() else usual


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
    is_brief: bool = False
    """Whether it takes seconds, whatever the job's data: a process of its own is started for no longer."""


class Pool:
    """Runs modules of ours that need Spark, cold ones with a `share` of the machine. Safe for several threads."""

    def __init__(self, idle_s: float = IDLE_S, share: Share = WHOLE) -> None:
        self.share = share
        self._home = Path()
        self._lock = threading.Lock()
        self._members: list[Member] = []
        self._timer = IdleTimer(idle_s, self._end_idle)
        self.most_bytes = 0
        """How much memory the processes may take together; 0 while the pool is closed."""
        self.drivers = 0
        """How many of them a server begins with; 0 where no job begins in one."""

    def open(self, home: Path, bound_bytes: int | None = None) -> None:
        """From now on processes are kept, with their folders in `home`."""
        self._home = home
        self.most_bytes = most_bytes() if bound_bytes is None else bound_bytes
        self.drivers = most_drivers() if self.most_bytes else 0

    def close(self) -> None:
        """Ends all processes, also in the middle of a task."""
        with self._lock:
            self.most_bytes = self.drivers = 0
            self._timer.stop()
            members, self._members = self._members, []
        for member in members:
            member.end()

    def expect(self, runtime: Runtime, master: str, conf: Mapping[str, str], most: int = 1) -> None:
        """Warms processes up until `most` of the kind wait, as far as there is room: somebody is likely to ask for them. Where none can be
        started nothing is said: who asks for one is told."""
        if not self.most_bytes:
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
            environ = environment.brief(kind.environ) if work.is_brief else kind.environ
            return processes.run(command, folder, dict(environ), log, watch, timeout_s, self.share, work.hidden)
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
        """Another process, where the bound has room for it."""
        if not self.most_bytes or not kind.is_local:
            return None
        for member in [member for member in self._members if not member.is_alive or member.is_stuck]:
            self._end(member)
        if not self._has_room(kind):
            return None
        self._home.mkdir(parents=True, exist_ok=True)
        member = Member(kind, Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._home)))
        self._members.append(member)
        return member

    def _has_room(self, kind: Kind) -> bool:
        """Whether another process of the kind may begin: those that wait and are of another kind give way, the longest unused first."""
        others = sorted((member for member in self._members if not member.work and member.kind != kind), key=lambda member: member.used_s)
        taken = {member: max(member.memory_bytes, EXPECTED_BYTES) for member in self._members}
        free = self.most_bytes - sum(taken.values())
        if free + sum(taken[member] for member in others) < EXPECTED_BYTES:
            return False
        while free < EXPECTED_BYTES:
            member = others.pop(0)
            free += taken[member]
            self._end(member)
        return True

    def keep_within(self) -> None:
        """Ends processes that wait, the largest first, as long as all of them take more than the bound. Those that do something go on: a
        heap that a task has filled is not given back, and its process ends when it waits."""
        with self._lock:
            taken = {member: member.memory_bytes for member in self._members}
            waiting = sorted((member for member in self._members if not member.work), key=lambda member: taken[member])
            while waiting and sum(taken.values()) > self.most_bytes:
                member = waiting.pop()
                del taken[member]
                self._end(member)

    def _put_back(self, member: Member, is_kept: bool) -> None:
        with self._lock:
            member.work, member.used_s = "", time.monotonic()
            if not is_kept and member in self._members:
                self._end(member)
            self._begin_timer()
        self.keep_within()

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
