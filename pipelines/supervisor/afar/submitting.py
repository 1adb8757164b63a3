"""A run is submitted once: who submits it holds a lock that each of its processes inherits, and looks at the cluster first.

A process that stands for a driver may be killed while its `spark-submit` goes on, which the cluster does not know of yet. The lock is then
`spark-submit`'s alone: the next process waits for its end, and finds what it has submitted.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipelines.domain.applications import Application, Stage

LOCK_FILE = "submission.lock"


@contextmanager
def alone(folder: Path) -> Iterator[int]:
    """Waits until no process submits the run in `folder`, then keeps others waiting; gives the open file that a process passes on to
    those that submit for it."""
    lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def choose(applications: Sequence[Application]) -> tuple[Application | None, Sequence[Application]]:
    """Of a run's applications, oldest first: the one that is followed, and those to end. A `spark-submit` that was killed may have
    reached the cluster all the same, so there can be several; the oldest that is not over may have begun to work."""
    living = [application for application in applications if application.stage is not Stage.OVER]
    return (living[0], living[1:]) if living else (next(reversed(applications), None), ())
