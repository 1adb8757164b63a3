"""Exports a savepoint and is killed (SIGKILL, itself) by the first piece of the copy: `killed_export.py WORKSPACE SAVEPOINT URL`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pipelines.domain.operations import Operation
from pipelines.domain.requests import ExportRequest
from pipelines.workspace import operations
from pipelines.workspace.opening import open_workspace


def main(root: str, savepoint: str, url: str) -> None:
    face = open_workspace(Path(root))

    def dying(ticket: operations.Ticket, done: int) -> None:
        if ticket.amount is not None and ticket.amount.step != "computing checksums":
            os.kill(os.getpid(), signal.SIGKILL)

    operations.Ticket.advance = dying
    begun = face.export(savepoint, ExportRequest(url))
    assert isinstance(begun, Operation)
    operations.wait(face.context, begun.id)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
