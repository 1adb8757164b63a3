"""The marks that processes leave at a savepoint they work on, so that others can tell unfinished work from abandoned work."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.domain.bounds import Moment
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.hosts import Host, Place
from pipelines.domain.processes import Process
from pipelines.storage import documents, hosts
from pipelines.storage.protocol import Storage

CLOCK_SLACK_SECONDS = 2.0
"""A process's start time is read from the boot time, which moves when the clock is set."""
FOREIGN_PATIENCE_MS = 24 * 3600 * 1000
"""A process on another host cannot be asked: after a day its mark no longer counts."""


@dataclass(frozen=True)
class ProcessMark:
    """A mark: which process of which host, since when (epoch ms), for what."""

    process: Process
    host: str
    since_ms: Moment
    purpose: str


Lives = Callable[[ProcessMark, int], bool]
"""Whether the process of a mark is still at work at a time (epoch ms)."""


def this_process(now_ms: int, purpose: str) -> ProcessMark:
    """The mark of this process."""
    import psutil

    pid, here = os.getpid(), hosts.here()
    return ProcessMark(Process(pid, psutil.Process(pid).create_time(), host=here), here.name, now_ms, purpose)


def lives(mark: ProcessMark, now_ms: int) -> bool:
    """Whether the process that left `mark` still runs: the same pid with the same start time, not a zombie.

    One of a host of this name is gone that was booted, or whose container was begun, anew.
    """
    import psutil

    host = mark.process.host or Host(mark.host)
    if hosts.place(host) is not Place.HERE:
        return host.name != hosts.here().name and now_ms - mark.since_ms < FOREIGN_PATIENCE_MS
    try:
        process = psutil.Process(mark.process.pid)
        same = abs(process.create_time() - mark.process.started) < CLOCK_SLACK_SECONDS
        return bool(same and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def lives_here(mark: ProcessMark, now_ms: int) -> bool:
    """As `lives`, for marks in a workspace that this process has opened: no process of another host works in it any more."""
    return hosts.place(mark.process.host or Host(mark.host)) is Place.HERE and lives(mark, now_ms)


def read(storage: Storage, path: str) -> ProcessMark | None:
    """The mark at `path`, None where there is none. A torn one is what a power cut leaves: its process is gone with it."""
    try:
        return documents.decode(ProcessMark, storage.read(path), path)
    except (NotFound, Corrupt):
        return None
