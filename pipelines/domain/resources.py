"""Resources of a job: how much memory and how many processors its driver may take, with all that it starts on this machine.

What holds a driver is one of three, the first that the machine can:

- a cgroup (v2) of its own below the server's, where that one is delegated to it (`memory.max`, `cpu.max`);
- a scope of systemd, the system's for root and else the user's (`MemoryMax`, `CPUQuota`);
- the supervisor, which measures what the driver's processes have, as YARN does without cgroups, and ends them beyond the limit.

RLIMIT_AS would be none: it counts addresses, of which a JVM reserves many times what it uses, and each process by itself. Whatever holds
it, the driver's heap is made to fit (`spark.driver.memory`), so that Spark collects garbage before it is ended.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pipelines.domain.bounds import Count, Rate
from pipelines.domain.errors import Invalid

MIB = 2**20
OVERHEAD_BYTES, OVERHEAD_SHARE = 512 * MIB, 0.4
"""What a driver needs beside its heap: Python with its workers, RocksDB, classes, compiled code, threads. The share of the heap is
Spark's own of PySpark on Kubernetes (`spark.kubernetes.memoryOverheadFactor`, 0.4 for what is not of the JVM)."""
LEAST_HEAP_BYTES = 512 * MIB
"""Spark does not start with less than 450 MiB (`UnifiedMemoryManager`)."""
LEAST_MEMORY_BYTES = LEAST_HEAP_BYTES + OVERHEAD_BYTES
LEAST_CPUS, MOST_CPUS = 0.1, 4_096.0
HEAP = "spark.driver.memory"
EXCEEDED = "MEMORY_LIMIT"
"""The error class of a run that was ended for its limit."""
HELD_FILE = "held.json"
"""In a run's folder, written by the supervisor before its driver runs: a `Held`."""
_SIZE = re.compile(r"(?P<number>\d{1,12}(\.\d{1,3})?)\s*(?P<unit>[kmgt]?)(i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class Means(enum.StrEnum):
    """What holds a driver."""

    CGROUP = "cgroup"
    SCOPE = "scope"
    SUPERVISOR = "supervisor"


@dataclass(frozen=True)
class Resources:
    """What a job may take; None is all that the machine has."""

    memory_bytes: Count | None = None
    cpus: Rate | None = None
    """Processors, which need not be whole."""

    @property
    def are_limited(self) -> bool:
        return self.memory_bytes is not None or self.cpus is not None


@dataclass(frozen=True)
class Held:
    """How the driver of a run is held."""

    means: Means
    resources: Resources
    place: str = ""
    """The folder of its cgroup; empty where it has none of its own."""
    taken_bytes: Count = 0
    """What its processes had when the supervisor saw that it was too much; 0 as long as it was not."""


ALL = Resources()


def changed(before: Resources, memory_bytes: int | None, cpus: float | None) -> Resources:
    """`before` with what is given: None leaves what is there, 0 takes the limit away. Raises Invalid (`resources.memory`,
    `resources.cpus`)."""
    if memory_bytes and memory_bytes < LEAST_MEMORY_BYTES:
        message = f"{spelt_bytes(memory_bytes)} of memory is too little for a Spark driver: with Python and its state it needs 1g"
        raise Invalid("resources.memory", message, "Give at least 1g (2g for state of any size), or 'none' for no limit.")
    if cpus and not (math.isfinite(cpus) and LEAST_CPUS <= cpus <= MOST_CPUS):
        raise Invalid("resources.cpus", f"{cpus:g} is no number of processors", "Give 0.1 or more, such as 1.5; 0 is no limit.")
    given = {"memory_bytes": memory_bytes, "cpus": cpus}
    return replace(before, **{name: value or None for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def confs(resources: Resources, conf: Mapping[str, str]) -> Mapping[str, str]:
    """`conf` with a heap that fits into the limit, where it names none. Raises Invalid (`resources.heap`) for one that does not fit."""
    if resources.memory_bytes is None:
        return conf
    most = min(resources.memory_bytes - OVERHEAD_BYTES, int(resources.memory_bytes / (1 + OVERHEAD_SHARE)))
    if HEAP not in conf:
        return {**conf, HEAP: f"{most // MIB}m"}
    heap = conf[HEAP].strip()
    own = size_bytes(f"{heap}m" if heap.isdigit() else heap)  # Spark's unit of it is MiB
    if own > resources.memory_bytes - OVERHEAD_BYTES:
        limit = spelt_bytes(resources.memory_bytes)
        message = f"A heap of {heap} ({HEAP}) does not fit into the job's limit of {limit}: a driver needs 512m beside it"
        raise Invalid("resources.heap", message, f"Raise the limit (--memory), or leave {HEAP} out: it is then {most // MIB}m.")
    return conf


def size_bytes(text: str) -> int:
    """`2g`, `1.5g` or `512m` in bytes, in powers of 1024 as Spark reads them. Raises Invalid (`resources.size`)."""
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise Invalid("resources.size", f"{text!r} is no size", "Write 2g, 1.5g or 1536m.")
    return round(float(size["number"]) * _UNITS[size["unit"].lower()])


def cpus_of(text: str) -> float:
    """`1.5` as a number. Raises Invalid (`resources.cpus`)."""
    try:
        return float(text)
    except ValueError as error:
        raise Invalid("resources.cpus", f"{text!r} is no number of processors", "Give 0.1 or more, such as 1.5.") from error


def spelt_bytes(size: int) -> str:
    """`1536m`, as `size_bytes` reads it."""
    unit = next(unit for unit in ("t", "g", "m", "k", "") if size % _UNITS[unit] == 0)
    return f"{size // _UNITS[unit]}{unit}"
