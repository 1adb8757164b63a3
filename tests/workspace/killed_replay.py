"""Begins a replay or a bisection and is killed (SIGKILL, itself) before it writes a document of that name, or when the fork's driver runs.

`python -m tests.workspace.killed_replay WORKSPACE VERB GOOD BAD DOCUMENT`; the driver is a process that sleeps, and its id is printed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from pipelines.domain.run_specs import SPEC_FILE
from pipelines.sandbox import processes
from pipelines.storage.local import LocalStorage
from pipelines.verbs.bisect import Bisect
from pipelines.verbs.replay import RunReplay
from pipelines.verbs.system import ListEvents
from pipelines.verbs.verb import Change
from pipelines.workspace.opening import open_workspace
from tests.waiting import until
from tests.workspace.conftest import NEWEST, House

DRIVER = "driver"
WRONG_AT_LAST = f"import os, sys\nsys.exit(int(os.environ['TIDEMARK_BATCH']) == {NEWEST})\n"
CHANGES: dict[str, Callable[[str, str], Change[Any, Any]]] = {
    "replay": lambda good, bad: RunReplay(savepoint=good, end=bad),
    "bisect": lambda good, bad: Bisect(job="a", good=good, bad=bad, script=WRONG_AT_LAST),
}


def killed(house: House, *words: str) -> str:
    """What the process had printed that was killed at work in the house's workspace; that is opened again."""
    house.face.close()
    command = [sys.executable, "-m", __name__, str(house.root), *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    house.open()
    return ran.stdout.strip()


def goes_on(pid: str) -> bool:
    return psutil.pid_exists(int(pid)) and psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE


def cleaned(house: House) -> list[str]:
    """What the openings said of jobs that they put away, newest first."""
    return [event.message for event in house.face.ask(ListEvents(kind="job.cleaned"))]


def main(root: str, verb: str, good: str, bad: str, document: str) -> None:
    face = open_workspace(Path(root))
    write = LocalStorage.write

    def dying(self: LocalStorage, path: str, data: bytes) -> None:
        if path.rpartition("/")[2] == document:
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, path, data)

    LocalStorage.write = dying
    before = set(face.context.files.job_names())
    face.begin(CHANGES[verb](good, bad))
    until(lambda: set(face.context.files.job_names()) != before, 120, what="no fork was begun")
    (fork,) = set(face.context.files.job_names()) - before
    (run,) = face.layout.runs(fork).glob(f"*/{SPEC_FILE}")
    driver = processes.start(["sh", "-c", "exec sleep 600"], run.parent, dict(os.environ), "driver.log")
    print(driver.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
