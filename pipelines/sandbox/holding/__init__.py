"""What holds a driver to its limits: chosen among what this machine can, when the driver starts.

The driver waits behind a gate until it is held, so that nothing it starts is outside: a shell that reads a line, and becomes the
driver. A server that dies before it writes that line leaves no driver: the gate ends with its input.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

from pipelines.domain.resources import Held, Means, Resources
from pipelines.sandbox.holding import cgroups, scopes

GATE = ("/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "held")
"""Put before a command: it begins with the first line of its input."""
OPEN = b"go\n"


def means() -> Means:
    """The best that this machine can; nothing is changed."""
    if cgroups.base() is not None:
        return Means.CGROUP
    return Means.SCOPE if scopes.can() else Means.SUPERVISOR


def hold(pid: int, name: str, resources: Resources) -> Held:
    """Has the process `pid`, and all that it will start, held to `resources` by the first means that works. `name` is the run's."""
    base = cgroups.base()
    if base is not None and (group := cgroups.placed(base, name, pid, resources)) is not None:
        return Held(Means.CGROUP, resources, str(group))
    if scopes.can() and (group := scopes.placed(name, pid, resources)) is not None:
        return Held(Means.SCOPE, resources, str(group))
    if resources.cpus is not None:
        os.sched_setaffinity(pid, processors(name, resources.cpus, sorted(os.sched_getaffinity(pid))))
    return Held(Means.SUPERVISOR, resources)


def processors(name: str, cpus: float, there: Sequence[int]) -> set[int]:
    """So many whole processors of those that are there; another name has others, so that jobs do not all share the first."""
    many, first = min(len(there), -int(-cpus // 1)), zlib.crc32(name.encode())
    return {there[(first + at) % len(there)] for at in range(many)}
