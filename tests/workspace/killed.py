"""Forks a savepoint and is killed (SIGKILL, itself) at the n-th document it would write: WORKSPACE, SAVEPOINT, N (`process_forks`)."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

from pipelines.storage.local import LocalStorage
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.workspace.opening import open_workspace
from tests.workspace import process_forks


def main(root: str, savepoint: str, step: str) -> None:
    face = open_workspace(Path(root))
    steps, write = itertools.count(1), LocalStorage.write

    def dying(self: LocalStorage, path: str, data: bytes) -> None:
        if next(steps) == int(step):
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, path, data)

    LocalStorage.write = dying
    do(face, Fork(savepoint, name="b", code="x = 1\n", check=False))


if __name__ == "__main__":
    process_forks.each(main)
