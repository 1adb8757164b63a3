"""Asks a sandbox for the rows of state stores: starts it, follows it, ends it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.errors import Unavailable
from pipelines.sandbox import environment, processes
from pipelines.sandbox.counts import ERROR_FILE, LOG_FILE, RESULT_FILE, CountTask, StoreRows, read_rows

TIMEOUT_VARIABLE = "TIDEMARK_SANDBOX_TIMEOUT_S"
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Counted:
    """The answer: one `StoreRows` for each store of the task."""

    spark_version: str
    rows: tuple[StoreRows, ...]


def count(folder: Path, task: CountTask, python: str, watch: Callable[[int], None]) -> Counted:
    """Counts in the empty `folder` with the interpreter `python` (empty: this one); `watch` is told how many stores are done.

    What `watch` raises ends the process. Raises Unavailable (`sandbox.failed`, `sandbox.timeout`, `sandbox.start`, `java.not_found`).
    """
    task.write(folder)
    command = environment.command(python, "pipelines.sandbox")
    processes.run(command, folder, environment.environ(task.master), LOG_FILE, lambda: watch(len(list(read_rows(folder)))), timeout_s())
    if not (folder / RESULT_FILE).is_file():
        raise _failed(folder)
    rows = tuple(read_rows(folder))
    watch(len(rows))
    return Counted(json.loads((folder / RESULT_FILE).read_text())["spark_version"], rows)


def timeout_s() -> float:
    """How long a one-off process may take."""
    return float(os.environ.get(TIMEOUT_VARIABLE, TIMEOUT_S))


def _failed(folder: Path) -> Unavailable:
    """The sandbox's own failure says nothing about the state."""
    path = folder / ERROR_FILE
    said = json.loads(path.read_text()) if path.is_file() else {"error_class": "", "message": processes.tail(folder / LOG_FILE)}
    message = f"The sandbox's Spark failed: {said['error_class']}: {said['message']}"
    return Unavailable("sandbox.failed", message, "Look at the job's confs and interpreter; then verify again.")
