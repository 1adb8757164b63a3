"""Who is at work on a savepoint: a process that leaves its mark first, so that others can tell an unfinished work from an abandoned one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.runs import Process
from pipelines.storage import documents
from pipelines.storage.protocol import Storage

CLOCK_SLACK_SECONDS = 2.0
"""A process's start time is read from the boot time, which moves when the clock is set."""
FOREIGN_PATIENCE_MS = 24 * 3600 * 1000
"""A maker on another machine cannot be asked: after a day its mark no longer counts."""


@dataclass(frozen=True)
class Maker:
    """A mark: which process of which machine, since when (epoch ms), for what."""

    process: Process
    host: str
    since_ms: int
    purpose: str


Lives = Callable[[Maker, int], bool]
"""Whether a maker is still at work at a time (epoch ms)."""


def this_process(now_ms: int, purpose: str) -> Maker:
    """The mark of this process."""
    import psutil

    pid = os.getpid()
    return Maker(Process(pid, psutil.Process(pid).create_time()), socket.gethostname(), now_ms, purpose)


def lives(maker: Maker, now_ms: int) -> bool:
    """Whether the process that left `maker` still runs: the same pid with the same start time, not a zombie."""
    import psutil

    if maker.host != socket.gethostname():
        return now_ms - maker.since_ms < FOREIGN_PATIENCE_MS
    try:
        process = psutil.Process(maker.process.pid)
        same = abs(process.create_time() - maker.process.started) < CLOCK_SLACK_SECONDS
        return bool(same and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def read(storage: Storage, path: str) -> Maker | None:
    """The mark at `path`, None where there is none. A torn one is what a power cut leaves: its process is gone with it."""
    try:
        return documents.decode(Maker, storage.read(path), path)
    except (NotFound, Corrupt):
        return None
