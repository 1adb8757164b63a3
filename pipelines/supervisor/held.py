"""Drivers with limits: started behind a gate until they are held, looked at in each pass, and let go of when they have ended.

The order, and what a crash after each step leaves: (1) the driver's process waits at its gate: that ends with this process; (2) it is
held; (3) `held.json` says how; (4) the gate opens. A restarted supervisor finds an adopted driver held, and how, in that file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipelines.domain.processes import Process
from pipelines.domain.resources import HELD_FILE, Held, Means
from pipelines.domain.run_specs import RunSpec
from pipelines.sandbox import holding
from pipelines.sandbox.holding import cgroups
from pipelines.supervisor import processes
from pipelines.words.resources import size
from pipelines.workspace.context import Context


def spawn(context: Context, command: Sequence[str], folder: Path, environ: Mapping[str, str], spec: RunSpec) -> Process:
    """A driver that is held to its `resources` from its first instruction on; raises OSError where it cannot be started."""
    resources, stands = spec.resources, processes.standing(spec, folder)
    if not resources.are_limited:
        return processes.spawn(command, folder, environ, stands=stands)
    gate, way = os.pipe()
    try:
        process = processes.spawn([*holding.GATE, *command], folder, environ, gate, stands)  # 1
        held = holding.hold(process.pid, folder.name, resources)  # 2
        context.files.write(folder / HELD_FILE, held)  # 3
        os.write(way, holding.OPEN)  # 4
    finally:
        os.close(gate)
        os.close(way)
    return process


def exceeded(context: Context, folder: Path, process: Process | None) -> str:
    """How a run's driver went beyond its memory, in words; empty where it did not. `process` is the driver that lives, if it does.

    What the supervisor or a scope's cgroup says is kept at once: it cannot be seen again."""
    held = context.files.find(Held, folder / HELD_FILE)
    if held is None or held.resources.memory_bytes is None:
        return ""
    taken = held.taken_bytes or _taken(held, folder, process)
    if not taken:
        return ""
    if not held.taken_bytes:
        context.files.write(folder / HELD_FILE, Held(held.means, held.resources, held.place, taken))
    limit = size(held.resources.memory_bytes)
    if held.means is Means.SUPERVISOR:
        return f"its processes had {size(taken)} of memory, and the job may have {limit}"
    return f"its processes wanted more than the {limit} of memory that the job may have, and the kernel ended them"


def _taken(held: Held, folder: Path, process: Process | None) -> int:
    """The bytes of a driver that has too much; 0 of any other."""
    limit = held.resources.memory_bytes or 0
    if held.means is Means.SUPERVISOR:
        return processes.beyond(process, folder, limit) if process is not None else 0
    return limit if cgroups.kills(Path(held.place)) else 0


def release(context: Context, folder: Path) -> None:
    """Ends what is left in the cgroup of a run that has ended, and removes it; a scope goes by itself."""
    held = context.files.find(Held, folder / HELD_FILE)
    if held is not None and held.means is Means.CGROUP:
        cgroups.end(Path(held.place))
