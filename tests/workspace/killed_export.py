"""Exports a savepoint and is killed (SIGKILL, itself) by the first piece of the copy: `killed_export.py WORKSPACE SAVEPOINT URL`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.tickets import Ticket


def main(root: str, savepoint: str, url: str) -> None:
    face = open_workspace(Path(root))

    def dying(ticket: Ticket, done: int) -> None:
        if ticket.amount is not None and ticket.amount.step != "computing checksums":
            os.kill(os.getpid(), signal.SIGKILL)

    Ticket.advance = dying
    do(face, Export(savepoint, url))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
