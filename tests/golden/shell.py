"""The command line as a shell has it, and the places and confs with which golden workspaces are made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import until

NUMBER = "2"
BUILD = Path("/tmp/tidemark-golden") / f"workspace-{NUMBER}"
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES_SEEN = 5
"""How many of the input's files the workspace's jobs see: a batch each."""
ALL_INPUT, INPUT = BUILD / "all", BUILD / "input"
CONF = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.minBatchesToRetain": "6",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.stateStore.maintenanceInterval": "200ms",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.fileSink.log.cleanupDelay": "0",
    "spark.sql.streaming.fileSink.log.compactInterval": "3",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


class Shell:
    """The command line on one workspace, in processes of its own."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def __call__(self, *words: str | Path) -> str:
        print("tidemark", *words, flush=True)
        command = [sys.executable, "-m", "pipelines", *map(str, words)]
        at = words.index("--") + 3 if "--" in words else len(command)
        command[at:at] = ["--workspace", str(self.workspace)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def json(self, *words: str | Path) -> Any:
        return json.loads(self(*words, "--json"))

    def run(self, script: Path, job: str, *args: str) -> None:
        confs = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
        self("run", script, "--name", job, *confs, "--wait", "--", *args)

    def savepoint(self, job: str, *words: str) -> str:
        """The id of a new savepoint."""
        return str(self.json("savepoint", job, *words)["id"])

    def stop(self, job: str, *words: str) -> None:
        self("stop", job, *words)

    def await_end(self, job: str) -> None:
        until(lambda: self._state(job) not in ("wanted", "starting", "running", "stopping"), what=f"{job} did not end", every=1)
        assert self._state(job) == "finished", self("logs", job)

    def await_batch(self, job: str, batch: int) -> None:
        until(lambda: (self.json("show", job)["summary"]["batch"] or -1) >= batch, what=f"{job} has no batch {batch}", every=1)

    def _state(self, job: str) -> str:
        return str(self.json("show", job)["summary"]["state"])
