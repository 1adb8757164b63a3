"""Cgroups (v2) of drivers, below that of this process: made, entered, read and removed.

The kernel's rules (Documentation/admin-guide/cgroup-v2.rst): a cgroup that hands controllers down has no processes of its own ("no
internal processes"), so this one's move into a leaf first; and one is ours only where it was delegated, or where nobody else looks after
cgroups, as in a container.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from pipelines.domain.resources import Resources

ROOT = Path("/sys/fs/cgroup")
SYSTEMD = Path("/run/systemd/system")
"""There where systemd looks after the machine (`sd_booted(3)`)."""
LEAF, PREFIX = "server", "tidemark-"
CONTROLLERS = {"memory", "cpu"}
PERIOD_US = 100_000
DELEGATED = ("user.delegate", "trusted.delegate")
"""Attributes that systemd gives a cgroup which it leaves to its processes."""
END_S = 5.0


def base(root: Path = ROOT) -> Path | None:
    """The cgroup below which drivers' are made; None where this process has none that it may divide."""
    own = of(os.getpid(), root)
    if own is None:
        return None
    group = own.parent if own.name == LEAF else own
    return group if _divides(group) else None


def of(pid: int, root: Path = ROOT) -> Path | None:
    """The cgroup of a process; None where the machine has only those of version 1."""
    if not (root / "cgroup.controllers").is_file():
        return None
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        place = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), "..")
        return None if place.startswith("..") else root / place
    return None


def placed(base: Path, name: str, pid: int, resources: Resources) -> Path | None:
    """A new cgroup with these limits and `pid` in it; None where the kernel refuses one of the steps, and nothing is left then."""
    group = base / f"{PREFIX}{name}"
    try:
        _divide(base)
        group.mkdir(exist_ok=True)
        _limit(group, resources)
        (group / "cgroup.procs").write_text(str(pid))
    except OSError:
        with suppress(OSError):
            group.rmdir()
        return None
    return group


def kills(group: Path) -> int:
    """How many of its processes the kernel has ended for want of memory."""
    with suppress(OSError):
        lines = dict(line.split(" ", 1) for line in (group / "memory.events").read_text().splitlines())
        return int(lines.get("oom_kill", 0))
    return 0


def end(group: Path) -> None:
    """Ends what is left in the cgroup, and removes it; one that is gone is no error, and one that does not empty stays."""
    deadline = time.monotonic() + END_S
    while group.is_dir() and time.monotonic() < deadline:
        with suppress(OSError):
            (group / "cgroup.kill").write_text("1")
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.01)


def _limit(group: Path, resources: Resources) -> None:
    """Beyond `memory.max`, without swap, the kernel ends the whole group; `cpu.max` is a share of each tenth of a second."""
    if resources.memory_bytes is not None:
        (group / "memory.max").write_text(str(resources.memory_bytes))
        (group / "memory.oom.group").write_text("1")
        swap = group / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")
    if resources.cpus is not None:
        (group / "cpu.max").write_text(f"{round(resources.cpus * PERIOD_US)} {PERIOD_US}")


def _divides(group: Path) -> bool:
    try:
        there = set((group / "cgroup.controllers").read_text().split())
    except OSError:
        return False
    writable = all(os.access(place, os.W_OK) for place in (group, group / "cgroup.procs", group / "cgroup.subtree_control"))
    return there >= CONTROLLERS and writable and _is_ours(group)


def _is_ours(group: Path) -> bool:
    """Whether nobody else looks after it: it was delegated, or there is no systemd; and its processes are this one's kin."""
    if SYSTEMD.exists() and not _is_delegated(group):
        return False
    return _is_root(group) or set(_processes(group)) <= _kin()


def _is_delegated(group: Path) -> bool:
    for name in DELEGATED:
        with suppress(OSError):
            if os.getxattr(group, name) == b"1":
                return True
    return False


def _is_root(group: Path) -> bool:
    """The machine's own has processes beside its groups; it alone has no type."""
    return not (group / "cgroup.type").exists()


def _divide(group: Path) -> None:
    """(1) Its processes move into a leaf; (2) it hands down the controllers."""
    if not _is_root(group) and (inside := list(_processes(group))):
        leaf = group / LEAF
        leaf.mkdir(exist_ok=True)
        for pid in inside:
            with suppress(ProcessLookupError):
                (leaf / "cgroup.procs").write_text(str(pid))
    (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(CONTROLLERS)))


def _processes(group: Path) -> Iterator[int]:
    return map(int, (group / "cgroup.procs").read_text().split())


def _kin() -> set[int]:
    own = psutil.Process()
    return {own.pid, *(process.pid for process in (*own.parents(), *own.children(recursive=True)))}
