"""Forks a savepoint and is killed (SIGKILL, itself) when the state is rewritten: `killed_migrating.py WORKSPACE SAVEPOINT CODE DROP`.

Its sandbox has kept JVMs. `killed_rescaling.py` is killed while the sandbox rewrites."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pipelines.sandbox import environment
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.workspace import rehearsals
from pipelines.workspace.opening import open_workspace
from tests.kept_jvms import keeper


def dying(*asked: Any, **more: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    root, savepoint, code, drop = sys.argv[1:]
    environment.command = keeper.command
    rehearsals.rehearse = dying
    do(open_workspace(Path(root)), Fork(savepoint, name="killed", code=Path(code).read_text(), drop=(drop,)))
