"""Changes a job at a home, and is killed (SIGKILL, itself) on its way.

Lines on its input, by `process_forks`: `WORKSPACE fork SAVEPOINT HOME` (a fork `b`, killed when Spark would begin to rewrite its copy) and
`WORKSPACE rescale JOB` (killed when all is copied, and the copy has not got its name).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from pipelines.savepoint import restore
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.rescale import Rescale
from pipelines.workspace import states
from pipelines.workspace.opening import open_workspace
from tests.workspace import process_forks


def dying(*asked: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def work(root: str, verb: str, subject: str, home: str = "") -> None:
    if verb == "fork":
        states.follow = dying
    else:
        restore._check = dying
    change = Fork(subject, name="b", home=home, partitions=4) if verb == "fork" else Rescale(subject, 4)
    do(open_workspace(Path(root)), change)


if __name__ == "__main__":
    process_forks.each(work)
