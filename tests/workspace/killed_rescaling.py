"""Rescales a job and is killed (SIGKILL, itself) while Spark rewrites its state: `killed_rescaling.py WORKSPACE JOB PARTITIONS`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from pipelines.sandbox.readings import Far
from pipelines.verbs.face import do
from pipelines.verbs.rescale import Rescale
from pipelines.workspace import states
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.tickets import Ticket


def dying(ticket: Ticket) -> Callable[[Far], None]:
    def watch(far: Far) -> None:
        if far.step == "rewriting state":
            os.kill(os.getpid(), signal.SIGKILL)

    return watch


if __name__ == "__main__":
    states.follow = dying
    do(open_workspace(Path(sys.argv[1])), Rescale(sys.argv[2], int(sys.argv[3])))
