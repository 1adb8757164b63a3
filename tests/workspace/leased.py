"""A server of a workspace on a host of its own, without pages: `python -m tests.workspace.leased WORKSPACE HOST`.

Stands by until the workspace is its own, and then says events for as long as it may. Prints `stands by`, `has it`, the code of the error
that it is refused by, and why it ends.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from pipelines.domain.errors import Unavailable
from pipelines.domain.hosts import Host
from pipelines.domain.workspace_leases import LOCKED
from pipelines.storage.layout import Layout
from pipelines.workspace import events
from pipelines.workspace.lease import Lease
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.workspace import Workspace


def main(root: Path, name: str) -> None:
    lease = Lease(Layout(root), here=Host(name, f"boot of {name}", "pid:[1]"), is_shared=True)
    print("stands by", flush=True)
    while (workspace := opened(root, lease)) is None:
        time.sleep(0.05)
    print("has it", flush=True)
    lease.ends_with(lambda why: print(why, flush=True) or os._exit(9))
    while True:
        try:
            events.say(workspace.context, "test.acted", None, name, "")
        except Unavailable as error:
            print(error.code, flush=True)
        time.sleep(0.02)


def opened(root: Path, lease: Lease) -> Workspace | None:
    try:
        return open_workspace(root, standby=lease)
    except Unavailable as error:
        if error.code != LOCKED:
            raise
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
