"""Disposes of a savepoint and is killed (SIGKILL, itself): WORKSPACE, SAVEPOINT, and before what: `files` are deleted, or `tags` of Iceberg
tables are (`process_forks`)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from pipelines.savepoint import iceberg_tags
from pipelines.storage.local import LocalStorage
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.face import do
from pipelines.workspace.opening import open_workspace
from tests.workspace import process_forks


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(root: str, savepoint: str, step: str) -> None:
    face = open_workspace(Path(root))
    if step == "files":
        LocalStorage.delete = die  # type: ignore[assignment]
    else:
        iceberg_tags.drop = die  # type: ignore[assignment]
    do(face, Dispose((savepoint,)))


if __name__ == "__main__":
    process_forks.each(main)
