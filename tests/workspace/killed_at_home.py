"""Changes a job at a home, and is killed (SIGKILL, itself) when its copy there is to be rewritten, before a Spark begins with it.

Lines on its input, by `process_forks`: `WORKSPACE fork SAVEPOINT HOME` (a fork `b`) and `WORKSPACE rescale JOB`.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.rescale import Rescale
from pipelines.workspace import states
from pipelines.workspace.opening import open_workspace
from tests.workspace import process_forks


def dying(*asked: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def work(root: str, verb: str, subject: str, home: str = "") -> None:
    states.follow = dying
    change = Fork(subject, name="b", home=home, partitions=4) if verb == "fork" else Rescale(subject, 4)
    do(open_workspace(Path(root)), change)


if __name__ == "__main__":
    process_forks.each(work)
