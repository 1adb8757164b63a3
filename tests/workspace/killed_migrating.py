"""Forks a savepoint and is killed (SIGKILL, itself) on the way: `killed_migrating.py WORKSPACE SAVEPOINT CODE DROP POINT`.

POINT is `rewriting`, while the sandbox does that, or `rehearsing`, when the state is rewritten. Its sandbox has kept JVMs."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pipelines.sandbox import environment
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.workspace import rehearsals, states
from pipelines.workspace.opening import open_workspace
from tests.kept_jvms import keeper


def dying(*asked: Any, **more: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    root, savepoint, code, drop, point = sys.argv[1:]
    environment.command = keeper.command
    if point == "rewriting":
        states.follow = lambda ticket: dying
    else:
        rehearsals.rehearse = dying
    do(open_workspace(Path(root)), Fork(savepoint, name="killed", code=Path(code).read_text(), drop=(drop,)))
