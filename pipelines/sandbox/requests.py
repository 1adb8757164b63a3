"""What a process of the pool is told, as JSON lines, and the files in its folder by which it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

READY_FILE = "ready"
"""The process is warm."""
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

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"
