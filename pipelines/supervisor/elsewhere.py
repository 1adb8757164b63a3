"""Drivers that are processes of another host, as a server finds them that has taken over from one there: their locks tell of them.

What stands for a driver on a cluster is none of them: that driver goes on without, and another process stands for it here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from pathlib import Path

from pipelines.domain.home_leases import LOCK_FILE
from pipelines.domain.hosts import Host, Place, is_certain
from pipelines.domain.job_places import is_remote
from pipelines.domain.jobs import Run
from pipelines.domain.processes import Process
from pipelines.domain.runs import EXIT_FILE, LEASES, RUN_LOCK
from pipelines.storage import hosts
from pipelines.supervisor.afar import starting
from pipelines.workspace.context import Context

YOUNG_MS = 60_000
"""A driver has locked its run's file long before that."""


class Stand(enum.StrEnum):
    """What is known of such a driver."""

    LIVES = "lives"
    GONE = "gone"
    """Or, of a job at a home, about to end: the next driver waits there for its lease."""
    LOST = "lost"
    """It has no lock any more, which a file server may have taken from one that lives: nothing may begin on its checkpoint by itself."""


def is_elsewhere(process: Process | None) -> bool:
    """Whether the process is another host's."""
    return process is not None and hosts.place(process.host) is Place.ELSEWHERE


def stand(context: Context, run: Run, process: Process) -> Stand:
    """How the driver of `run` stands, which is a process of another host."""
    folder = context.layout.run(run.job, run.id)
    if starting.goes_on(folder):
        return Stand.GONE
    if any(map(hosts.is_locked, _locks(run, folder))) or _is_young(context, folder, process):
        return Stand.LIVES
    host, places = process.host or Host(), (context.layout.root, Path(run.checkpoints))
    if is_remote(run.checkpoints) or is_certain(host, hosts.here(), disk_is_shared=any(map(hosts.is_shared, places))):
        return Stand.GONE
    return Stand.LOST


def _locks(run: Run, folder: Path) -> Iterator[Path]:
    """That of the driver, and those of its JVM, which may outlive it."""
    yield from (folder / RUN_LOCK, folder / LOCK_FILE)
    if not is_remote(run.checkpoints):
        yield from Path(run.checkpoints, LEASES).glob("*.lock")


def _is_young(context: Context, folder: Path, process: Process) -> bool:
    begins = not (folder / RUN_LOCK).exists() and not (folder / EXIT_FILE).exists()
    return begins and context.now_ms() - process.began_ms < YOUNG_MS
