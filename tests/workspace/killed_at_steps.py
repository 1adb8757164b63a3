"""Does one change and is killed (SIGKILL, itself) right before the n-th thing that it would do to the disk: WORKSPACE, CHANGE, SUBJECT, N
(`process_forks`).

What is done to the disk is what Python's audit events tell: files that are opened to be written, and what is named, linked and removed;
DuckDB's own file is DuckDB's affair. One that comes to its end writes beside the workspace how many things it did, and ends without closing
it, with the exit code `DONE`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.savepoint import imports, worker
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.import_ import Import
from pipelines.verbs.prune import Prune
from pipelines.workspace.opening import open_workspace
from tests.workspace import process_forks

DONE = 77
COUNT = "steps"
CHANGES: dict[str, Callable[[str], Any]] = {
    "fork": lambda subject: Fork(subject, name="b", code="x = 1\n", check=False),
    "experiment": lambda subject: StartExperiment("e", subject, (Variant(name="b"), Variant(name="c"))),
    "import": Import,
    "dispose": lambda subject: Dispose(tuple(subject.split(","))),
    "prune": Prune,
}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
ACTS = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.truncate"}


class Steps:
    """Counts what is done to the disk; the process ends instead of the one at `last`."""

    def __init__(self, last: int) -> None:
        self.last, self.count = last, 0

    def told(self, event: str, given: tuple[Any, ...]) -> None:
        if event in ACTS or (event == "open" and isinstance(given[2], int) and given[2] & WRITES and not _is_device(given[0])):
            self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def _is_device(path: object) -> bool:
    return isinstance(path, str) and path.startswith(("/dev/", "/proc/"))


def main(root: str, change: str, subject: str, last: str) -> None:
    face = open_workspace(Path(root))
    worker.bring = _brought
    steps = Steps(int(last))
    sys.addaudithook(steps.told)
    do(face, CHANGES[change](subject))
    Path(root).with_name(COUNT).write_text(str(steps.count))
    os._exit(DONE)


def _brought(pool: object, url: str, shelf: Any, now_ms: int, watch: Any, claim: worker.Claim) -> Any:
    """In this process, with which it is killed."""

    def claimed(head: Any) -> Any:
        return claim(worker.Found(head.manifest.id, head.manifest.job, head.manifest.version))

    return imports.bring(url, shelf, now_ms, watch, claim=claimed).id


if __name__ == "__main__":
    process_forks.each(main)
