"""Scopes of systemd around drivers: what `systemd-run --scope` asks for, for a process that is there already.

The call is `StartTransientUnit` (org.freedesktop.systemd1(5)), made with systemd's own `busctl`: of the system's manager for root, whose
drivers may be another user's, and of the user's own manager for everybody else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from pipelines.domain.resources import LEAST_MEMORY_BYTES, Resources
from pipelines.sandbox.holding import cgroups

CALL = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "StartTransientUnit")
TIMEOUT_S = 5.0


@cache
def can() -> bool:
    """Whether a scope with a limit can be made here: tried once, on a process that does nothing."""
    if not cgroups.SYSTEMD.exists() or shutil.which("busctl") is None or not (cgroups.ROOT / "cgroup.controllers").is_file():
        return False
    tried = subprocess.Popen(["/bin/sh", "-c", "read -r go"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        group = placed(f"try-{tried.pid}", tried.pid, Resources(LEAST_MEMORY_BYTES, 1.0))
        return group is not None and (group / "memory.max").read_text().strip() == str(LEAST_MEMORY_BYTES)
    except OSError:
        return False
    finally:
        tried.communicate()


def placed(name: str, pid: int, resources: Resources) -> Path | None:
    """The cgroup of a new scope with these limits and `pid` in it; None where systemd does not make it."""
    unit = f"{cgroups.PREFIX}{name}.scope"
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(call(unit, pid, resources), stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False)
        return _entered(pid, unit) if done.returncode == 0 else None
    return None


def call(unit: str, pid: int, resources: Resources) -> Sequence[str]:
    """The command that makes the scope. It is gone with its last process, however that ended."""
    properties = ["PIDs", "au", "1", str(pid)], ["CollectMode", "s", "inactive-or-failed"], *_limits(resources)
    whose = [] if os.geteuid() == 0 else ["--user"]
    arguments = [str(len(properties)), *(word for words in properties for word in words), "0"]
    return ["busctl", *whose, "call", *CALL, "ssa(sv)a(sa(sv))", unit, "fail", *arguments]


def _limits(resources: Resources) -> Sequence[list[str]]:
    memory, cpus = resources.memory_bytes, resources.cpus
    return (
        *([["MemoryMax", "t", str(memory)], ["MemorySwapMax", "t", "0"]] if memory is not None else []),
        *([["CPUQuotaPerSecUSec", "t", str(round(cpus * 1_000_000))]] if cpus is not None else []),
    )


def _entered(pid: int, unit: str) -> Path | None:
    """The cgroup of `pid` when it is the scope's: systemd moves it a moment after its answer."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        group = cgroups.of(pid)
        if group is not None and group.name == unit:
            return group
        time.sleep(0.01)
    return None
