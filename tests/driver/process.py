"""Real driver processes on small scripts, started as the supervisor starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FILE, SPEC_FORMAT, RunSpec
from pipelines.domain.runs import EVENTS_FILE, EXIT_FILE, LOG_FILE, PROGRESS_FILE, QUERIES_FILE
from pipelines.sandbox import environment as sandbox
from pipelines.supervisor.commands import MODULE

ROOT = Path(__file__).parents[2]
CONF = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"}


@dataclass
class Driver:
    """One driver process and its run folder."""

    folder: Path
    process: subprocess.Popen[bytes]

    def lines(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def queries(self) -> list[dict[str, Any]]:
        return self.lines(QUERIES_FILE)

    @property
    def progress(self) -> list[dict[str, Any]]:
        return self.lines(PROGRESS_FILE)

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.lines(EVENTS_FILE)

    @property
    def log(self) -> str:
        return (self.folder / LOG_FILE).read_text()

    @property
    def exit(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / EXIT_FILE).read_text())
        return document

    def until(self, condition: Callable[[Driver], bool], seconds: float = 400) -> None:
        deadline = time.monotonic() + seconds
        while not condition(self):
            assert self.process.poll() is None, f"the driver ended: {self.log}"
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = 400) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(self.log) from None


class Drivers:
    """Starts drivers under one folder, and ends those that a failed test leaves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[Driver] = []

    def start(
        self,
        run: str,
        script: str | Path,
        *args: str,
        job: str = "job",
        conf: Mapping[str, str] | None = None,
        sink_logs: Mapping[str, str] | None = None,
        taken_paths: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        told: Mapping[str, Any] | None = None,
    ) -> Driver:
        """`script` is a path, or code that is written to one; `told` is what else its `run.json` says."""
        folder = self.folder / "runs" / run
        folder.mkdir(parents=True)
        if isinstance(script, str):
            (folder / "script.py").write_text(script)
            script = folder / "script.py"
        spec = RunSpec(
            SPEC_FORMAT, RunId(run), JobName(job), VersionId("v-1"), str(script), args, {**CONF, **(conf or {})}, "local[2]",
            str(self.checkpoints(job)), str(self.output(job)), dict(sink_logs or {}), taken_paths,
        )  # fmt: skip
        (folder / SPEC_FILE).write_text(json.dumps(asdict(spec) | dict(told or {})))
        variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
        with (folder / LOG_FILE).open("wb") as log:
            command = [*sandbox.command("", MODULE), str(folder)]
            process = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT)
        driver = Driver(folder, process)
        self._started.append(driver)
        return driver

    def checkpoints(self, job: str = "job") -> Path:
        return self.folder / "checkpoints" / job

    def output(self, job: str = "job") -> Path:
        return self.folder / "output" / job

    def end(self) -> None:
        for driver in self._started:
            if driver.process.poll() is None:
                driver.process.kill()
            driver.process.wait()


def batches(checkpoint: Path, log: str) -> list[int]:
    """Batch numbers in a checkpoint's `offsets` or `commits`."""
    return sorted(int(path.name) for path in (checkpoint / log).iterdir() if path.name.isdigit())
