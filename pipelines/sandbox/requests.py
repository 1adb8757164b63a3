"""What a process of the pool is told, as JSON lines, and the files in its folder by which it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

MARK = "TIDEMARK_RUN"
"""Environment variable with the folder that a process and all its children belong to."""
READY_FILE = "ready"
"""The process is warm."""
RUN_FILE = "run"
"""The process has become the driver of the run in the folder that this names; written before it does."""
HERE = "here"
"""The working directory of its JVM; a link to the driver's once it is one."""
CODE_FILE = "code"
"""A task is done and the process waits for the next one; holds the exit code."""


@dataclass(frozen=True)
class Launch:
    """The JVM to start: its master, and the confs that hold for all of it."""

    master: str
    conf: Mapping[str, str]

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True)
class Request:
    """A module of ours to run on a folder that describes its task; the process ends with its `last` one."""

    module: str
    folder: str
    last: bool
    stands: str = ""
    """The working directory of the driver of a run, which the process is from now on: it goes on when who has started it ends. Empty for
    another task."""

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"
