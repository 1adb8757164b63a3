"""Forks a savepoint into a job at a home, `b`, with 4 partitions, and is killed (SIGKILL, itself) when the sandbox's Spark has begun to
write state there: `killed_while_spark_writes.py WORKSPACE SAVEPOINT HOME`. Its Spark goes on to write."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Set
from pathlib import Path

from pipelines.sandbox.readings import Far
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Entry
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.workspace import states
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.tickets import Ticket


def once_spark_wrote(home: str, before: Set[Entry], act: Callable[[], None]) -> Callable[[Ticket], Callable[[Far], None]]:
    """A `states.follow` that acts when there is state at the home that was not there before the rewriting; 0 and 1 are the partitions that
    the restored copy has."""

    def follow(ticket: Ticket) -> Callable[[Far], None]:
        def watch(far: Far) -> None:
            written = (entry.path for entry in open_storage(home).list() if entry not in before and "/state/0/" in entry.path)
            if far.step == "rewriting state" and any(path.partition("/state/0/")[2].split("/")[0] in ("2", "3") for path in written):
                act()

        return watch

    return follow


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    at = sys.argv[3]
    states.follow = once_spark_wrote(at, set(open_storage(at).list()), die)
    do(open_workspace(Path(sys.argv[1])), Fork(sys.argv[2], name="b", home=at, partitions=4))
