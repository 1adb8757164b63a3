"""What a job may take of its machine, and what holds it, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.resources import MIB, Means, Resources

MEANS: Mapping[Means, str] = {
    Means.CGROUP: "held by a cgroup of its own",
    Means.SCOPE: "held by a systemd scope of its own",
    Means.SUPERVISOR: "held by the supervisor, which measures its processes; processors are whole ones",
}
CAN: Mapping[Means, str] = {
    Means.CGROUP: "by the kernel, in a cgroup for each driver",
    Means.SCOPE: "by the kernel, in a systemd scope for each driver",
    Means.SUPERVISOR: "by the supervisor, which measures drivers and ends those beyond their limit: this server has no cgroup of its own",
}


def spelt(resources: Resources) -> str:
    """`2 GiB of memory, 1.5 processors`; empty where there is no limit."""
    memory, cpus = resources.memory_bytes, resources.cpus
    parts = [f"{size(memory)} of memory"] if memory else []
    return ", ".join([*parts, *([f"{cpus:g} processor{'' if cpus == 1 else 's'}"] if cpus else [])])


def held(resources: Resources, means: Means) -> str:
    """`2 GiB of memory: held by …`."""
    return f"{spelt(resources)}: {MEANS[means]}"


def size(number: int) -> str:
    """`1.5 GiB`: limits are in powers of 1024, as Spark and the kernel have them."""
    return f"{number / MIB / 1024:.3g} GiB" if number >= 1024 * MIB else f"{number / MIB:.4g} MiB"
